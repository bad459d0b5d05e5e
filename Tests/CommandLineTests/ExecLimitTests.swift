// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

/// What `exec` takes of the system, as a process of its own.
@Suite("The resources that exec uses")
struct ExecLimitTests {
    private struct Ended {
        let status: Int32
        let answers: [JSONValue]
        let messages: String
    }

    /// Runs lines through `exec` in a shell that has run a command before it.
    private func run(
        _ lines: [JSONValue], after command: String = ":", environment: [String: String] = [:]
    ) async throws -> Ended {
        let child = try ChildProcess(
            "/bin/sh", ["-c", command + "; exec \"$0\" exec", Program.path(of: "turnpike")],
            environment: environment, input: .pipe, output: .pipe, errors: .pipe)
        try child.input.write(contentsOf: Data(lines.map { "\($0)\n" }.joined().utf8))
        try child.input.close()
        let (end, text, messages) = await child.finished()
        return Ended(
            status: end.status,
            answers: try text.split(separator: UInt8(ascii: "\n")).map {
                try JSONValue(parsing: Data($0))
            },
            messages: String(decoding: messages, as: UTF8.self))
    }

    @Test(
        "A process without descriptors says so", .timeLimit(.minutes(1)),
        arguments: ["curl", "urlsession"])
    func descriptors(transport: String) async throws {
        let server = try TestServer()
        let hold = TestHold()
        server.fallback(.ok(text: "x").held(by: hold))
        defer { hold.open() }
        let line: JSONValue = [
            "transport": ["use": .string(transport)], "stack": [["use": "deadline", "seconds": 3]],
            "request": ["url": .string(server.url.absoluteString)], "repeat": 60,
            "concurrency": 60,
        ]
        let ended = try await run([line], after: "ulimit -n 24")
        let results = ended.answers.first?["results"]?.array ?? []
        #expect(results.count == 60)
        let errors = results.compactMap { $0["error"] }.filter { $0["code"] == "connection" }
        #expect(errors.count > 30)
        for error in errors {
            #expect(error["message"]?.string?.contains("descriptors") == true, "\(error)")
        }
    }
}
