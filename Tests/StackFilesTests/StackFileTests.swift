// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

@Suite("StackFile and Registry")
struct StackFileTests {
    private let registry = Registry.forTests()

    private func mistakes(_ text: String) throws -> [String] {
        try StackFile(parsing: Data(text.utf8)).check(with: registry).map(\.description)
    }

    @Test(
        "A stack file must be a JSON object",
        arguments: ["", "x", "[]", "3", "{", #"{"stack": [], "stack": []}"#, "{}}"])
    func noObject(text: String) {
        let error = #expect(throws: ClientError.self) { try StackFile(parsing: Data(text.utf8)) }
        #expect(error?.code == .configuration)
    }

    @Test("A syntax error has its position")
    func syntax() {
        let error = #expect(throws: ClientError.self) {
            try StackFile(parsing: Data("{\n  \"stack\": [,]\n}".utf8))
        }
        #expect(error?.message.contains("line 2") == true, "\(error?.message ?? "")")
    }

    @Test("A draft leaves out gates with mistakes, and the others keep their places")
    func draft() throws {
        let text = #"""
            {"stack": [{"use": "counter", "ratio": 99}, {"use": "mark", "text": "x"},
                {"use": "mark", "tex": "x"}, {"use": "none"}, {"use": "counter"}]}
            """#
        let draft = try StackFile(parsing: Data(text.utf8)).parsed(with: registry)
        #expect(draft.issues.count == 3)
        #expect(draft.gates.map(\.path) == ["stack[1]", "stack[4]"])
    }

    @Test("A missing file is reported by its path")
    func missing() {
        let error = #expect(throws: ClientError.self) {
            try StackFile(contentsOf: URL(filePath: "/no/such/stack.json"))
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("/no/such/stack.json") == true)
    }

    @Test(
        "A mistake has its path",
        arguments: [
            (#"{"stak": []}"#, "stak: there is no such setting; did you mean \"stack\"?"),
            (#"{"stack": 3}"#, "stack: expected an array of gates, or the name of a stack"),
            (
                #"{"stack": "standrad"}"#,
                #"stack: "standrad" is not a stack; did you mean "standard"?"#
            ),
            (#"{"stack": [3]}"#, "stack[0]: expected an object with \"use\""),
            (#"{"stack": [{}]}"#, "stack[0]: \"use\" is missing; it names the gate"),
            (#"{"stack": [{"use": 3}]}"#, "stack[0]: \"use\" is missing; it names the gate"),
            (
                #"{"stack": [{"use": "mark"}, {"use": "mrak"}]}"#,
                #"stack[1].use: there is no gate "mrak"; did you mean "mark"?"#
            ),
            (#"{"stack": [{"use": "mark", "tex": "x"}]}"#, "stack[0].tex: there is no such"),
            (#"{"stack": [{"use": "mark", "text": 3}]}"#, "stack[0].text: found a number"),
            (#"{"stack": [{"use": "broken"}]}"#, "stack[0]: it is broken"),
            (#"{"transport": "mock"}"#, "transport: expected an object with \"use\""),
            (
                #"{"transport": {"use": "mok"}}"#,
                #"transport.use: there is no transport "mok"; did you mean "mock"?"#
            ),
            (
                #"{"transport": {"use": "mock", "responses": [{"status": 99}]}}"#,
                "transport.responses[0].status: found 99; expected an integer from 100 to 999"
            ),
            (#"{"baseURL": 3}"#, "baseURL: found a number"),
            (
                #"{"baseURL": "ftp://a/"}"#,
                "baseURL: the URL's scheme is neither http nor https but ftp"
            ),
            (#"{"baseURL": "/path"}"#, "baseURL: the URL is relative"),
        ])
    func mistake(text: String, expected: String) throws {
        let found = try mistakes(text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }

    @Test("All mistakes of a file are reported at once")
    func all() throws {
        let found = try mistakes(
            """
            {"baseURL": "x", "transport": {"use": "nock", "a": 1}, "more": 1,
             "stack": [{"use": "mark", "text": 1, "b": 2}, {"use": "x"}, 4, {"use": "broken"}]}
            """)
        let places = found.map { $0.prefix { $0 != ":" } }
        #expect(
            Set(places) == [
                "baseURL", "transport.use", "more", "stack[0].text", "stack[0].b", "stack[1].use",
                "stack[2]", "stack[3]",
            ])
    }

    @Test("A check creates and opens nothing")
    func dryRun() throws {
        let made = Notes()
        var registry = Registry.forTests()
        registry.register(gate: "file") { settings in
            made.add(settings.isDryRun ? "dry" : "made")
            return Around { try await $2($0) }
        }
        let file = try StackFile(parsing: Data(#"{"stack": [{"use": "file"}]}"#.utf8))
        #expect(file.check(with: registry).isEmpty)
        #expect(made.all == ["dry"])
        let bad = try StackFile(parsing: Data(#"{"stack": [{"use": "file"}, 3]}"#.utf8))
        expectError(.configuration) { try client(bad, registry) }
        #expect(made.all == ["dry", "dry"])
        _ = try client(file, registry)
        #expect(made.all == ["dry", "dry", "dry", "made"])
    }

    private func client(_ file: StackFile, _ registry: Registry) throws -> ConfiguredClient {
        try ConfiguredClient(file, registry: registry, serializers: SerializerTable())
    }

    @Test("A file becomes a client: base URL, transport, gates in their order")
    func build() async throws {
        let file = try StackFile(
            parsing: Data(
                """
                {"baseURL": "http://b.example/v1/",
                 "transport": {"use": "mock", "responses": [{"text": "from the file"}]},
                 "stack": [{"use": "mark", "text": "a"}, {"use": "mark", "text": "b"}]}
                """.utf8))
        let client = try client(file, registry).client
        let response = try await client.get("x").response()
        #expect(response.url.absoluteString == "http://b.example/v1/x")
        #expect(try await response.body.collect(upTo: 100) == Data("from the file".utf8))
        let transport = try #require(client.transport as? MockTransport)
        #expect(transport.sent.first?.request.headers.values(of: "X-Mark") == ["a", "b"])
    }

    @Test("A file without a stack gets the standard one, a file without a transport the first one")
    func defaults() throws {
        let file = try StackFile([:])
        #expect(try client(file, registry).client.stack.gates.count == 1)
        #expect(try client(file, registry).client.transport is MockTransport)
        let bare = try StackFile(["stack": []])
        #expect(try client(bare, registry).client.stack.gates.isEmpty)
    }

    @Test("A name that is registered again replaces the first registration")
    func registeredAgain() {
        var registry = Registry.forTests()
        let count = registry.gateNames.count
        registry.register(gate: "mark") { _ in Around { try await $2($0) } }
        #expect(registry.gateNames.count == count)
    }
}
