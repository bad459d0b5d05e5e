// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeStackFiles

@testable import TurnpikeCache
@testable import TurnpikeCommandLine

@Suite("turnpike cache")
struct CacheCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "turnpike-command-\(UInt64.random(in: 0...UInt64.max))")

    private func run(_ arguments: String...) async -> (code: Int32, text: String, messages: String)
    {
        let terminal = FakeTerminal()
        let code = await CacheCommand.run(arguments, terminal.terminal())
        return (code, terminal.text, terminal.messages)
    }

    @Test("The command lists and removes the responses that a stack file's cache has stored")
    func listAndPurge() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path
        let stack = """
            [{"transport": {"use": "mock", "responses": [
                {"status": 200, "headers": [["Cache-Control", "max-age=60"]], "text": "four"}]},
              "stack": [{"use": "cache", "memory": 0, "directory": "\(path)", "partition": "x"}]}]
            """
        let root = try JSONValue(parsing: Data(stack.utf8)).array?.first
        let file = try StackFile(#require(root))
        #expect(file.check(with: .commandLine).isEmpty)
        let client = try ConfiguredClient(
            file, registry: .commandLine, serializers: .standard
        ).client
        for target in ["http://a.example/1?token=hidden", "http://a.example/2"] {
            _ = try await client.get(Target(target)).data()
        }
        await client.shutdown()

        let listed = await run("list", path)
        #expect(listed.code == 0)
        let lines = listed.text.split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(lines.map { $0.prefix(2) } == [["200", "4"], ["200", "4"]])
        #expect(lines.last?.last == "http://a.example/2")
        #expect(!listed.text.contains("hidden"))

        #expect(await run("purge", path, "http://a.example/2").text == "1 removed\n")
        #expect(await run("purge", path).text == "1 removed\n")
        #expect(await run("list", path).text == "")
    }

    @Test("A folder that is not a cache is not touched; mistakes are reported")
    func mistakes() async {
        let missing = await run("purge", folder.path)
        #expect(missing.code == 2 && missing.messages.contains("there is no cache"))
        #expect(await run("list").code == 2)
        #expect(await run("clear", folder.path).code == 2)
        #expect(await run("--help").text.contains("purge"))
    }
}
