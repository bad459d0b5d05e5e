// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("turnpike with parts of another program")
struct OwnPartsTests {
    private let terminal = FakeTerminal()
    private let folder = TemporaryFolder()

    private static var registry: Registry {
        var registry = Registry.commandLine
        registry.register(transport: "own") { _ in
            MockTransport { _ in .ok(text: "from the own transport") }
        }
        return registry
    }

    private func run(_ arguments: String..., registry: Registry = registry) async -> Int32 {
        await TurnpikeCommand.run(arguments, terminal.terminal(), registry)
    }

    private func file() throws -> String {
        try folder.write(#"{"transport": {"use": "own"}, "stack": []}"#, to: "stack.json")
    }

    @Test("A file that names its transport is checked and explained")
    func known() async throws {
        let path = try file()
        #expect(await run("check", path) == 0)
        #expect(await run("explain", path, "http://a.example/") == 0)
        #expect(await run("check", path, registry: .commandLine) == ExitCode.usage)
        #expect(terminal.messages.contains("own"))
    }

    @Test("A request goes over its transport")
    func used() async throws {
        let path = try file()
        #expect(await run("send", "http://a.example/", "--stack", path) == 0)
        #expect(terminal.text.contains("from the own transport"))
    }

    @Test("The schema knows its transport")
    func schema() async throws {
        #expect(await run("check", "--schema") == 0)
        #expect(terminal.text.contains("\"own\""))
    }
}
