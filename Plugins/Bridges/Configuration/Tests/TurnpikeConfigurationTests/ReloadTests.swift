// SPDX-License-Identifier: Apache-2.0

import Configuration
import Foundation
import Testing
import Turnpike
import TurnpikeConfiguration
import TurnpikeStackFiles
import TurnpikeTesting
import TurnpikeTrafficStackFiles

@Suite("A client that follows its configuration", .timeLimit(.minutes(2)))
struct ReloadTests {
    /// A client with the outcomes of reloads.
    private struct Followed {
        let client: ReloadingClient
        let outcomes: AsyncStream<Result<StackFile, any Error>>

        init(_ reader: ConfigReader, _ registry: Registry = .standard) throws {
            let (stream, continuation) = AsyncStream<Result<StackFile, any Error>>.makeStream()
            client = try ReloadingClient(reader, registry: registry) { continuation.yield($0) }
            outcomes = stream
        }

        func names() -> [String] { client.client.stack.gates.map(\.gateName) }
    }

    private func registry(_ transport: MockTransport) -> Registry {
        var registry = Registry.standard
        registry.registerTraffic()
        registry.register(transport: "test") { _ in transport }
        return registry
    }

    private func values(_ gates: String...) -> [AbsoluteConfigKey: ConfigValue] {
        [
            "up.gates": .init(.stringArray(gates), isSecret: false), "up.transport.use": "test",
            "up.baseURL": "https://api.example.com/",
        ]
    }

    @Test("Replaces the stack, and keeps the old one with a wrong configuration")
    func follows() async throws {
        let provider = MutableInMemoryProvider(initialValues: values("limits"))
        let reader = ConfigReader(provider: provider).scoped(to: "up")
        let followed = try Followed(reader, registry(MockTransport { _ in .ok() }))
        let run = Task { [client = followed.client] in try await client.run() }
        var outcomes = followed.outcomes.makeAsyncIterator()
        let before = followed.names()

        provider.setValue(names("deadline", "limits"), forKey: "up.gates")
        let good = try #require(await outcomes.next())
        #expect(try good.get() == followed.client.file)
        #expect(followed.names().count == 2)
        #expect(followed.names() != before)

        provider.setValue(names("deadlin", "limit"), forKey: "up.gates")
        let bad = try #require(await outcomes.next())
        let error = try #require(throws: ClientError.self) { try bad.get() }
        #expect(error.message.contains("\"deadlin\"") && error.message.contains("\"limit\""))
        #expect(followed.names().count == 2)
        #expect(try await followed.client.client.get("a").response().status == .ok)
        #expect(throws: ClientError.self) { try followed.client.reload() }

        provider.setValue(names("limits"), forKey: "up.gates")
        _ = try await outcomes.next()?.get()
        #expect(followed.names() == before)

        provider.setValue("https://other.example/", forKey: "up.baseURL")
        let moved = try #require(await outcomes.next())
        #expect(throws: ClientError.self) { try moved.get() }
        // A mistake and the end of the mistake are each reported once.
        provider.setValue("other", forKey: "unrelated")
        provider.setValue("https://api.example.com/", forKey: "up.baseURL")
        let again = try #require(await outcomes.next())
        #expect(try again.get() == followed.client.file)

        run.cancel()
        try await run.value
        await followed.client.client.shutdown()
    }

    @Test("Gates keep what they remember, whatever their place")
    func state() async throws {
        var gates = values("circuitBreaker")
        gates["up.gate.circuitBreaker.minimum"] = 1
        let provider = MutableInMemoryProvider(initialValues: gates)
        let reader = ConfigReader(provider: provider).scoped(to: "up")
        let followed = try Followed(reader, registry(MockTransport { _ in .status(500) }))
        let client = followed.client.client
        _ = try await client.get("a").response()
        let before = await #expect(throws: ClientError.self) {
            try await client.get("a").response()
        }
        #expect(before?.code == .circuitOpen)

        provider.setValue(names("deadline", "limits", "circuitBreaker"), forKey: "up.gates")
        try followed.client.reload()
        #expect(followed.names().count == 3)
        let after = await #expect(throws: ClientError.self) {
            try await client.get("a").response()
        }
        #expect(after?.code == .circuitOpen)
    }

    @Test("Loses no call under way, and no later one")
    func calls() async throws {
        let server = try TestServer(keepsRecord: false)
        server.route("/a", .ok(text: "whole"))
        let hold = TestHold()
        server.route("/held", .ok(text: "whole").held(by: hold))
        var first = values("retry")
        first["up.baseURL"] = .init(.string(server.url.absoluteString), isSecret: false)
        first["up.transport.use"] = "urlsession"
        let provider = MutableInMemoryProvider(initialValues: first)
        let reader = ConfigReader(provider: provider).scoped(to: "up")
        let followed = try Followed(reader)
        let client = followed.client.client
        let run = Task { [client = followed.client] in try await client.run() }

        let held = Task { try await client.get("held").string() }
        try await server.waitForRequests(1)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var last = ""
                    for _ in 0..<50 {
                        last = try await client.get("a").string()
                        #expect(last == "whole")
                    }
                    return last
                }
            }
            var outcomes = followed.outcomes.makeAsyncIterator()
            for number in 1...20 {
                // Every third configuration is wrong.
                let gates = number % 3 == 0 ? names("wrong") : names("limits", "retry/r\(number)")
                provider.setValue(gates, forKey: "up.gates")
                let outcome = try #require(await outcomes.next())
                #expect((try? outcome.get()) == (number % 3 == 0 ? nil : followed.client.file))
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "whole", count: 4))
        hold.open()
        #expect(try await held.value == "whole")
        run.cancel()
        try await run.value
        await client.shutdown()
    }

    @Test("Reads the file that a key names when it is told to")
    func path() async throws {
        let folder = try TemporaryFolder()
        try folder.write(#"{"transport": {"use": "mock"}, "stack": []}"#, to: "stack.json")
        let reader = config([
            "stackFile": .init(.string(folder.path("stack.json")), isSecret: false)
        ])
        let followed = try Followed(reader)
        try folder.write(
            #"{"transport": {"use": "mock"}, "stack": [{"use": "limits"}]}"#, to: "stack.json")
        try followed.client.reload()
        #expect(followed.names().count == 1)
        try folder.write("{", to: "stack.json")
        #expect(throws: ClientError.self) { try followed.client.reload() }
        #expect(followed.names().count == 1)
        // This provider never changes, and the updates may end.
        let run = Task { [client = followed.client] in try await client.run() }
        run.cancel()
        try await run.value
    }

    @Test("Follows a file that a provider watches")
    func file() async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        func stack(_ attempts: Int) -> String {
            """
            {"up": {"gates": ["retry"], "transport": {"use": "mock"},
                    "gate": {"retry": {"attempts": \(attempts)}}}}
            """
        }
        // The provider notices a new modification time of the file, or a new path. The path
        // changes, as with a ConfigMap, because two writes may have the same time.
        try folder.write(stack(2), to: "first.json")
        try folder.write(stack(5), to: "second.json")
        try folder.link("config.json", to: "first.json")
        let provider = try await ReloadingFileProvider<JSONSnapshot>(
            config: config([
                "filePath": .init(.string(folder.path("config.json")), isSecret: false),
                "pollIntervalSeconds": 1,
            ]))
        let followed = try Followed(ConfigReader(provider: provider).scoped(to: "up"))
        let poll = Task { try await provider.run() }
        let run = Task { [client = followed.client] in try await client.run() }
        try folder.link("config.json", to: "second.json")
        var outcomes = followed.outcomes.makeAsyncIterator()
        let outcome = try #require(await outcomes.next())
        let read = try outcome.get()
        let value: JSONValue = [
            "transport": ["use": "mock"],
            "stack": [["use": "retry", "attempts": 5, "id": "retry"]],
        ]
        #expect(try read == StackFile(value))
        run.cancel()
        poll.cancel()
        try await run.value
        _ = await poll.result
    }

    @Test("Is not made from a wrong configuration")
    func wrong() {
        let error = #expect(throws: ClientError.self) {
            try ReloadingClient(config(["gates": names("wrong")])) { _ in }
        }
        #expect(error?.code == .configuration)
    }
}
