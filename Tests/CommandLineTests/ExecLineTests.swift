// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("The lines of exec")
struct ExecLineTests {
    private static let mock = #""stack": [], "transport": {"use": "mock"}"#
    private static let plain = #""request": {"url": "http://a.example/"}, "# + mock

    @Test(
        "A line that is not an exchange is answered with an error",
        arguments: [
            "", " ", "nonsense", "[]", "null", "3", "\"x\"", "{", "{\"id\": 1", "\u{0}", "{}",
            "{\"request\": null}", "{\"request\": {}}", "{\"request\": []}", "\u{FEFF}{}",
            String(repeating: "[", count: 100_000),
            "{\"a\": " + String(repeating: "{\"a\": ", count: 50_000),
        ])
    func garbage(line: String) async throws {
        let answers = await Exec.answers(to: line + "\n{\"id\": \"next\", \(Self.plain)}\n")
        #expect(answers.count == 2)
        #expect(answers[at: 0]?["outcome"] == "error")
        #expect(answers[at: 0]?["id"] == .null)
        let results = answers[at: 0]?["results"]
        #expect(results?.array?.count == 1)
        #expect(results?[0]?["error"]?["code"] == "configuration")
        #expect(results?[0]?["outcome"] == "error")
        #expect(answers[at: 1]?["id"] == "next")
        #expect(answers[at: 1]?["outcome"] == "response")
    }

    @Test("Bytes that are not text are answered, and the last line needs no line ending")
    func bytes() async {
        let state = FakeTerminal(input: "")
        let input = Data([0xFF, 0xFE, 0x0A, 0x80, 0x0D, 0x0A, 0x00])
        let lines = Feed(input, portion: 2)
        var terminal = state.terminal()
        terminal.input = { lines.next(upTo: $0) }
        #expect(await ExecCommand.run([], terminal) == 0)
        #expect(state.answers.count == 3)
        #expect(state.answers.allSatisfy { $0["outcome"] == "error" })
    }

    @Test("Lines are found wherever the input is cut", arguments: [1, 2, 3, 7, 1000])
    func portions(portion: Int) async {
        let input = (0..<5).map { "{\"id\": \"\($0)\", \(Self.plain)}\r\n" }.joined()
        let state = FakeTerminal()
        let lines = Feed(Data(input.utf8), portion: portion)
        var terminal = state.terminal()
        terminal.input = { lines.next(upTo: $0) }
        #expect(await ExecCommand.run([], terminal) == 0)
        #expect(state.answers.map { $0["id"]?.string } == ["0", "1", "2", "3", "4"])
    }

    @Test("A line describes the shared state of its gates too")
    func shared() async throws {
        let gate = #"{"use": "rateLimit", "perSecond": 100, "shared": true}"#
        let mock = #""request": {"url": "http://a.example/"}, "transport": {"use": "mock"}"#
        let line = "{\(mock), \"stack\": [\(gate)]"
        let answers = await Exec.answers(
            to: line + #", "shared": {"use": "memory"}}"# + "\n" + line + "}\n")
        #expect(answers[at: 0]?["outcome"] == "response")
        #expect(answers[at: 1]?["results"]?[0]?["error"]?["code"] == "configuration")
    }

    @Test("An input that can no longer be read is an error, and a partial line is dropped")
    func unreadable() async {
        let state = FakeTerminal()
        let lines = Feed(Data("{\"id\": \"0\", \(Self.plain)}\n{\"id\"".utf8), portion: 10)
        var terminal = state.terminal()
        terminal.input = { count in
            let bytes = lines.next(upTo: count)
            if bytes.isEmpty { throw OutputError(description: "cannot read the input: broken") }
            return bytes
        }
        #expect(await ExecCommand.run([], terminal) == ExitCode.file)
        #expect(state.answers.map { $0["id"]?.string } == ["0"])
        #expect(state.messages == "turnpike: cannot read the input: broken\n")
    }

    @Test("A line that is too long is answered, and the next one too")
    func tooLong() async {
        let input = "{\"id\": \"" + String(repeating: "x", count: 1000) + "\"}\n{\(Self.plain)}\n"
        let state = FakeTerminal(input: input + String(repeating: "y", count: 600))
        #expect(await ExecCommand.run([], state.terminal(), maxLineBytes: 500) == 0)
        #expect(state.answers.map { $0["outcome"]?.string } == ["error", "response", "error"])
        let message = state.answers[at: 0]?["results"]?[0]?["error"]?["message"]?.string
        #expect(message == "the line is longer than 500 bytes")
    }

    @Test("Answers come in the order of the lines, each before the next line is read")
    func order() async {
        let input = (0..<20).map { "{\"id\": \"\($0)\", \(Self.plain)}\n" }.joined()
        let ids = await Exec.answers(to: input).map { $0["id"]?.string ?? "" }
        #expect(ids == (0..<20).map { "\($0)" })
    }

    @Test("Mistakes of the request and of the stack are reported together, each with its path")
    func mistakes() async {
        let result = await Exec.result(of: [
            "request": ["url": "http://a.example/", "metod": "GET", "query": 1],
            "stack": [["use": "retri"], ["use": "retry", "attempts": "three"]],
            "transport": ["use": "mock", "responses": 3], "repeat": 0, "serialise": "json",
        ])
        let message = result["error"]?["message"]?.string ?? ""
        for part in [
            "request.metod: there is no such setting; did you mean \"method\"?", "request.query",
            "stack[0].use: there is no gate \"retri\"; did you mean \"retry\"?",
            "stack[1].attempts: found a string", "transport.responses", "repeat: found 0",
            "serialise: there is no such setting; did you mean \"serialize\"?",
        ] { #expect(message.contains(part), "\(part)") }
        #expect(result["error"]?["code"] == "configuration")
        #expect(result["attempts"] == 0)
    }

    @Test("A setting that the transport does not support is an error, and nothing is sent")
    func unsupported() async {
        let result = await Exec.result(of: [
            "request": ["url": "http://127.0.0.1:1/"], "stack": [],
            "transport": ["use": "urlsession", "trust": ["ca": "x.pem"]],
        ])
        #expect(result["error"]?["code"] == "unsupported")
        #expect(result["error"]?["message"]?.string?.hasPrefix("transport.trust: ") == true)
        #expect(result["attempts"] == 0)
    }

    @Test("A stack file provides the parts that a line leaves out")
    func stackFile() async throws {
        let folder = TemporaryFolder()
        let path = try folder.write(
            """
            {"baseURL": "http://b.example/v1/", "stack": [{"use": "validate"}],
             "transport": {"use": "mock", "responses": [{"status": 404}]}}
            """, to: "stack.json")
        let lines = """
            {"request": {"url": "x"}}
            {"request": {"url": "x"}, "stack": []}
            {"request": {"url": "x"}, "transport": {"use": "mock"}}
            {"request": {"url": "x"}, "baseURL": "http://c.example/"}

            """
        let results = await Exec.answers(to: lines, "--stack", path).map { $0["results"]?[0] }
        #expect(results[at: 0]??["error"]?["code"] == "validation")
        #expect(results[at: 0]??["url"] == "http://b.example/v1/x")
        #expect(results[at: 1]??["status"] == 404)
        #expect(results[at: 1]??["outcome"] == "response")
        #expect(results[at: 2]??["status"] == 200)
        #expect(results[at: 3]??["url"] == "http://c.example/x")
    }

    @Test("A wrong stack file, or a wrong option, ends the command before any line")
    func badUsage() async throws {
        let folder = TemporaryFolder()
        let path = try folder.write(#"{"stack": [{"use": "retyr"}], "tansport": {}}"#, to: "s")
        let terminal = FakeTerminal(input: "{}\n")
        #expect(await ExecCommand.run(["--stack", path], terminal.terminal()) == 2)
        #expect(terminal.messages.contains("stack[0].use"))
        #expect(terminal.messages.contains("did you mean \"transport\"?"))
        #expect(await ExecCommand.run(["--stak", path], terminal.terminal()) == 2)
        #expect(await ExecCommand.run(["--stack", path + "x"], terminal.terminal()) == 2)
        #expect(terminal.output.isEmpty)
    }

    @Test("Lines with one name share a client; others do not")
    func clients() async {
        let responses = #"{"use": "mock", "responses": [{"text": "1"}, {"text": "2"}]}"#
        func line(_ name: String) -> String {
            """
            {\(name) "request": {"url": "http://a.example/"}, "stack": [], \
            "transport": \(responses), "serialize": "string"}

            """
        }
        let named = line(#""client": "c","#)
        let answers = await Exec.answers(to: named + named + line(#""client": "d","#) + line(""))
        let values = answers.map { $0["results"]?[0]?["value"]?.string }
        #expect(values == ["1", "2", "1", "1"])
    }

    @Test("The hundred and first name is refused with advice; the others continue")
    func tooManyClients() async {
        func line(_ name: String) -> String {
            """
            {\(name) "request": {"url": "http://a.example/"}, "stack": [], \
            "transport": {"use": "mock", "responses": [{"text": "1"}, {"text": "2"}]}, \
            "serialize": "string"}

            """
        }
        let names = (0..<101).map { "\"client\": \"c\($0)\"," }
        let lines = names + [names[0], ""]
        let answers = await Exec.answers(to: lines.map(line).joined())
        let results = answers.map { $0["results"]?[0] }
        #expect(results.count == 103)
        #expect(results.prefix(100).allSatisfy { $0?["value"] == "1" })
        #expect(results[at: 100]??["error"]?["code"] == "configuration")
        let message = results[at: 100]??["error"]?["message"]?.string ?? ""
        #expect(message.contains("100 names are in use") && message.contains("leave the name out"))
        #expect(results[at: 101]??["value"] == "2")
        #expect(results[at: 102]??["value"] == "1")
    }

    @Test("Cancelling ends the current line, which is answered, and then the command")
    func cancelled() async throws {
        let server = try TestServer()
        server.route("/x", .silence)
        let line = "{\"request\": {\"url\": \"\(server.url)x\"}, \"repeat\": 3, \"stack\": []}\n"
        let state = FakeTerminal(input: line + line)
        let task = Task { await ExecCommand.run([], state.terminal()) }
        try await server.waitForRequests(1)
        task.cancel()
        #expect(await task.value == 130)
        #expect(state.answers.count == 1)
        let results = state.answers[at: 0]?["results"]?.array ?? []
        #expect(
            results.map { $0["error"]?["code"]?.string } == ["cancelled", "cancelled", "cancelled"])
        #expect(server.requests.count == 1)
    }

    @Test("A closed output ends the command without a message")
    func closed() async {
        let state = FakeTerminal(input: "{}\n{}\n")
        state.close()
        #expect(await ExecCommand.run([], state.terminal()) == 7)
        #expect(state.output.isEmpty && state.messages.isEmpty)
    }
}
