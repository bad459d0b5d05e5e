// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("send with JSON output and a stack file")
struct SendReportTests {
    private let folder = TemporaryFolder()
    private let terminal = FakeTerminal()

    /// Sends through a stack file whose transport is a mock.
    private func send(
        _ response: JSONValue, stack: JSONValue = [], _ arguments: String...
    ) async throws -> Int32 {
        let file: JSONValue = [
            "baseURL": "http://a.example/v1/", "stack": stack,
            "transport": ["use": "mock", "responses": [response]],
        ]
        let path = try folder.write(file.description, to: "stack.json")
        return await SendCommand.run(["x", "--stack", path] + arguments, terminal.terminal())
    }

    private var report: JSONValue { terminal.answers.first ?? .null }

    @Test("JSON content is JSON in the report, with head and figures")
    func json() async throws {
        let response: JSONValue = [
            "status": 200, "headers": [["Content-Type", "application/json"]], "text": #"{"id": 1}"#,
        ]
        #expect(try await send(response, "--json") == 0)
        #expect(report["outcome"] == "response")
        #expect(report["status"] == 200)
        #expect(report["url"] == "http://a.example/v1/x")
        #expect(report["value"] == ["id": 1])
        #expect(report["body"]?["bytes"] == 9)
        #expect(report["body"]?["base64"] == nil)
        #expect(report["attempts"] == 1)
    }

    @Test("Text content is text in the report, other bytes are base64")
    func text() async throws {
        #expect(try await send(["text": "grüße"], "--json") == 0)
        #expect(report["value"] == "grüße")
        let binary = FakeTerminal()
        let file = try folder.write(
            #"{"stack": [], "transport": {"use": "mock", "responses": [{"base64": "/wA="}]}}"#,
            to: "binary.json")
        _ = await SendCommand.run(
            ["http://a.example/", "--json", "--stack", file], binary.terminal())
        #expect(binary.answers.first?["value"] == nil)
        #expect(binary.answers.first?["body"]?["base64"] == "/wA=")
    }

    @Test("The report has the name and size of a file, and the file has the content")
    func file() async throws {
        #expect(try await send(["text": "abc"], "--json", "-o", folder["out"]) == 0)
        #expect(report["file"]?.string == folder["out"])
        #expect(report["body"]?["bytes"] == 3)
        #expect(report["value"] == nil)
        #expect(folder.contents(of: "out") == Data("abc".utf8))
    }

    @Test("An error is in the report and sets the exit status")
    func error() async throws {
        let stack: JSONValue = [["use": "validate"]]
        #expect(try await send(["status": 404, "text": "gone"], stack: stack, "--json") == 5)
        #expect(report["outcome"] == "error")
        #expect(report["error"]?["code"] == "validation")
        #expect(report["status"] == 404)
        #expect(report["value"] == "gone")
        #expect(terminal.messages.isEmpty)
    }

    @Test("The stack of a file decides: without a validator any status is a success")
    func stacks() async throws {
        #expect(try await send(["status": 404, "text": "gone"]) == 0)
        #expect(terminal.text == "gone")
    }

    @Test("Content that a validator refuses is shown as far as the error keeps it")
    func refused() async throws {
        let stack: JSONValue = [["use": "validate"]]
        #expect(try await send(["status": 500, "text": "sorry"], stack: stack) == 5)
        #expect(terminal.text == "sorry")
        #expect(terminal.messages.contains("500"))
    }

    @Test("All mistakes of a stack file are reported")
    func mistakes() async throws {
        let stack: JSONValue = [["use": "retri"], ["use": "retry", "attempts": "many"]]
        #expect(try await send([:], stack: stack) == 2)
        #expect(terminal.messages.contains("stack[0].use"))
        #expect(terminal.messages.contains("stack[1].attempts"))
    }
}
