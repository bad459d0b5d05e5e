// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

@Suite("What the gates of a stack file share")
struct SharedPartTests {
    private final class Ledger: SharedPart {
        let name: String
        private let ends: Mutex<Int>

        init(_ name: String) {
            self.name = name
            ends = Mutex(0)
        }

        func shutdown() async { ends.withLock { $0 += 1 } }

        var shutdowns: Int { ends.withLock { $0 } }
    }

    private final class Made: Sendable {
        let all = Mutex<[Ledger]>([])
    }

    private struct Uses: SynchronousRequestAdapter {
        let ledger: Ledger?

        func adapt(_ request: inout Request, context: Context) {
            request.headers["X-Ledger"] = ledger?.name
        }
    }

    private let made = Made()

    private var registry: Registry {
        var registry = Registry.forTests()
        registry.register(shared: "ledger") { [made] settings in
            let name = settings.required("name")
            _ = settings.int("pages", default: 1, in: 1...9)
            let ledger = Ledger(name)
            if !settings.isDryRun { made.all.withLock { $0.append(ledger) } }
            return ledger
        }
        registry.register(shared: "torn") { settings in
            throw ClientError(.configuration, "the ledger is torn")
        }
        registry.register(gate: "uses") { settings in
            Uses(ledger: settings.sharedPart(Ledger.self))
        }
        return registry
    }

    private func mistakes(_ file: JSONValue) throws -> [String] {
        try StackFile(file).check(with: registry).map(\.description)
    }

    private func client(_ file: JSONValue) throws -> ConfiguredClient {
        try ConfiguredClient(
            StackFile(file), registry: registry, serializers: SerializerTable(),
            timeSource: ManualClock())
    }

    private func ledgers(_ client: ConfiguredClient) -> [Ledger?] {
        client.client.stack.gates.map { ($0 as? Uses)?.ledger }
    }

    @Test("It is made once for all gates that use it, by name or by true; a check makes nothing")
    func once() throws {
        let file: JSONValue = [
            "shared": ["use": "ledger", "name": "a"],
            "stack": [
                ["use": "uses", "shared": true], ["use": "uses", "shared": "ledger"],
                ["use": "uses", "shared": false], ["use": "uses"],
            ],
        ]
        #expect(try mistakes(file).isEmpty)
        #expect(made.all.withLock { $0.isEmpty })
        let found = ledgers(try client(file))
        #expect(made.all.withLock { $0.count } == 1)
        #expect(found.map { $0?.name } == ["a", "a", nil, nil])
        #expect(found[0] === found[1])
    }

    @Test(
        "Each mistake is reported with its place",
        arguments: [
            (["use": "ledger"], true, "shared.name: is missing; expected a string"),
            (
                ["use": "ledger", "name": "a", "pagse": 1], true,
                "shared.pagse: there is no such setting; did you mean \"pages\"?"
            ),
            (["use": "ledger", "name": "a", "pages": 0], true, "shared.pages: found 0"),
            (
                ["use": "leger", "name": "a"], true,
                "shared.use: there is no kind of shared state \"leger\"; did you mean \"ledger\"?"
            ),
            (["use": "torn"], true, "shared: the ledger is torn"),
            (["name": "a"], true, "shared: \"use\" is missing; it names the kind"),
            ("ledger", true, "shared: expected an object with \"use\""),
            (.null, true, "shared: expected an object with \"use\""),
            (
                ["use": "ledger", "name": "a"], "other",
                "stack[0].shared: found \"other\"; the shared state of the file is \"ledger\""
            ),
            (
                ["use": "ledger", "name": "a"], 3,
                "stack[0].shared: found a number; expected a string"
            ),
            (["use": "ledger", "name": "a"], false, "shared: no gate uses this state; write"),
        ] as [(JSONValue, JSONValue, String)])
    func mistake(shared: JSONValue, used: JSONValue, expected: String) throws {
        let found = try mistakes(["shared": shared, "stack": [["use": "uses", "shared": used]]])
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
        #expect(made.all.withLock { $0.isEmpty })
    }

    @Test("A gate that uses what the file does not describe is told what to write")
    func missing() throws {
        #expect(
            try mistakes(["stack": [["use": "uses", "shared": true]]]) == [
                """
                stack[0].shared: the file describes no shared state; write it beside "stack", as in \
                "shared": {"use": "torn"}
                """
            ])
    }

    @Test("A stack with a name uses nothing that the file shares")
    func namedStack() throws {
        let found = try mistakes(["shared": ["use": "ledger", "name": "a"]])
        #expect(found.map { $0.prefix(22) } == ["shared: no gate uses t"])
    }

    @Test("A reload keeps it if its part of the file is the same, with the texts of its references")
    func reload() throws {
        let secret = TemporaryFolder()
        let path = secret.path + "/name"
        func file(_ name: JSONValue, mark: String) -> JSONValue {
            [
                "shared": ["use": "ledger", "name": name],
                "stack": [
                    ["use": "uses", "shared": true], ["use": "mark", "text": .string(mark)],
                ],
            ]
        }
        func write(_ text: String) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        try write("one")
        let reference: JSONValue = ["file": .string(path)]
        let client = try client(file(reference, mark: "a"))
        let first = ledgers(client)[0]
        #expect(first?.name == "one")
        try client.reload(StackFile(file(reference, mark: "b")))
        #expect(ledgers(client)[0] === first)
        try write("two")
        try client.reload(StackFile(file(reference, mark: "b")))
        #expect(ledgers(client)[0]?.name == "two")
        try client.reload(StackFile(file("two", mark: "b")))
        #expect(made.all.withLock { $0.map(\.name) } == ["one", "two"])
        var text = ""
        dump(Unshown("one"), to: &text)
        #expect(!text.contains("one"))
    }

    @Test("It is shut down with the client, after the gates, and released when it is replaced")
    func shutdown() async throws {
        let file: JSONValue = [
            "shared": ["use": "ledger", "name": "a"], "stack": [["use": "uses", "shared": true]],
        ]
        let client = try client(file)
        weak let first = made.all.withLock { $0[0] }
        try client.reload(StackFile(["stack": [["use": "uses"]]]))
        made.all.withLock { $0 = [] }
        #expect(first == nil)
        try client.reload(StackFile(file))
        let second = try #require(made.all.withLock { $0.first })
        await client.client.shutdown()
        #expect(second.shutdowns == 1)
    }
}
