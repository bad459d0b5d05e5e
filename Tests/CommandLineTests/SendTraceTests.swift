// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("send with heads: -v and -i")
struct SendTraceTests {
    private let server: TestServer
    private let folder = TemporaryFolder()
    private let terminal = FakeTerminal()

    init() throws {
        server = try TestServer()
    }

    private func url(_ path: String) -> String { server.url.absoluteString + path }

    private func send(_ arguments: String...) async -> Int32 {
        await SendCommand.run(arguments, terminal.terminal())
    }

    private var messages: [String] {
        terminal.messages.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test(
        "Both heads and the times are told on standard error, and the output is the content alone",
        arguments: ["curl", "urlsession"])
    func heads(transport: String) async throws {
        server.route("/x", .ok(text: "hello", headers: ["X-A": "1"]))
        #expect(await send("-v", "--transport", transport, url("x"), "-H", "X-B: 2") == 0)
        #expect(terminal.text == "hello")
        #expect(messages.first == "* transport: \(transport)")
        #expect(messages.contains("> GET \(url("x"))"))
        #expect(messages.contains("> X-B: 2"))
        #expect(messages.contains { $0.hasPrefix("< HTTP") && $0.hasSuffix(" 200 OK") })
        #expect(messages.contains("< X-A: 1"))
        let times = try #require(messages.last { !$0.isEmpty })
        #expect(times.hasPrefix("* 5 bytes") && times.contains("total "))
    }

    @Test("Secrets are hidden as in logs, and those of the content are not")
    func secrets() async {
        server.route("/x", .ok(text: "hunter4", headers: ["Set-Cookie": "session=hunter3"]))
        let target = url("x?api_key=hunter1")
        #expect(await send("-v", "-u", "ada:hunter2", target, "-H", "X-Token: hunter5") == 0)
        #expect(!terminal.messages.contains("hunter"))
        #expect(!terminal.messages.contains(Data("ada:hunter2".utf8).base64EncodedString()))
        for line in [
            "> Authorization: REDACTED", "> X-Token: REDACTED", "< Set-Cookie: REDACTED",
            "> GET \(url("x?api_key=REDACTED"))",
        ] {
            #expect(messages.contains(line))
        }
        #expect(terminal.text == "hunter4")
    }

    @Test("Retries and redirects are told, with the heads of each exchange")
    func gates() async {
        server.route("/a", .redirect(302, to: "/b"))
        server.route("/b", .status(503), .ok(text: "there"))
        #expect(await send("-v", url("a")) == 0)
        #expect(messages.count { $0.hasPrefix("> GET") } == 3)
        #expect(messages.contains("* the redirect is followed"))
        #expect(messages.contains { $0.hasPrefix("* attempt 3 in ") && $0.contains("503") })
        #expect(messages.contains { $0.hasPrefix("< HTTP") && $0.contains("503") })
    }

    @Test("A call that fails is told as far as it came")
    func failure() async {
        #expect(await send("-v", "POST", "http://127.0.0.1:1/") == 3)
        #expect(messages.contains("> POST http://127.0.0.1:1/"))
        #expect(messages.contains { $0.hasPrefix("* 0 bytes") })
        #expect(messages.contains { $0.hasPrefix("turnpike: connection: ") })
    }

    @Test("Control characters of a server are shown, and not obeyed")
    func control() async {
        server.route("/x", .ok(text: "", headers: ["X-A": "a\u{9B}2Jb"]))
        #expect(await send("-v", url("x")) == 0)
        #expect(messages.contains("< X-A: a\\u{9b}2Jb"))
        #expect(!terminal.messages.contains("\u{9B}"))
    }

    private struct Noting: RequestAdapter {
        func adapt(_ request: inout Request, context: Context) async throws {
            context.report("a\u{9B}2Jb\n* c", by: "no\u{1B}te")
        }
    }

    @Test("Control characters of what a gate notes are shown, and not obeyed")
    func notes() async throws {
        let trace = SendTrace(write: terminal.terminal().messages)
        let transport = MockTransport { _ in .ok(text: "") }
        let client = Client(transport: transport, stack: Stack([trace, Noting()]))
        _ = try await client.get("http://a.example/").response()
        #expect(messages.contains("* no\\u{1b}te: a\\u{9b}2Jb\\u{a}* c"))
    }

    @Test("The gates of a stack file are told, too")
    func stackFile() async throws {
        let file = try folder.write(
            #"""
            {"baseURL": "http://a.example/", "stack": [{"use": "retry", "attempts": 2}],
             "transport": {"use": "mock", "responses": [{"status": 503}, {"text": "ok"}]}}
            """#, to: "stack.json")
        #expect(await send("-v", "--stack", file, "x") == 0)
        #expect(messages.first == "* stack: \(file)")
        #expect(messages.contains { $0.hasPrefix("* attempt 2 in ") })
        #expect(messages.contains("> GET http://a.example/x"))
        #expect(terminal.text == "ok")
    }

    @Test("-i writes the head of the last response before its content")
    func head() async {
        server.route("/a", .redirect(302, to: "/b"))
        server.route("/b", .status(404, headers: ["X-A": "1"], body: Data("none".utf8)))
        #expect(await send("-i", "--transport", "curl", url("a")) == 5)
        let lines = terminal.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "HTTP/1.1 404 Not Found")
        #expect(lines.contains("X-A: 1"))
        #expect(lines.suffix(2) == ["", "none"])
    }

    @Test("-i writes the head to the output if the content goes to a file")
    func headBesideFile() async {
        server.route("/x", .ok(text: "content"))
        #expect(await send("-i", url("x"), "-o", folder["out"]) == 0)
        #expect(terminal.text.hasPrefix("HTTP"))
        #expect(!terminal.text.contains("content"))
        #expect(folder.contents(of: "out") == Data("content".utf8))
    }

    @Test("-i writes the head of a response that a stack file refuses, with what was kept of it")
    func refusedHead() async throws {
        let file = try folder.write(
            #"""
            {"stack": [{"use": "validate"}], "transport": {"use": "mock", "responses":
             [{"status": 500, "headers": [["X-A", "1"]], "text": "sorry"}]}}
            """#, to: "stack.json")
        #expect(await send("-i", "--stack", file, "http://a.example/") == 5)
        #expect(terminal.text.hasPrefix("HTTP"))
        #expect(terminal.text.hasSuffix(" 500 Internal Server Error\nX-A: 1\n\nsorry"))
    }

    @Test("Lines take the place of the progress bar, which is drawn again below them")
    func bar() {
        let written = FakeTerminal()
        let clock = ManualClock()
        let bar = ProgressBar(
            columns: 80, now: { clock.now }, draw: written.terminal().messages)
        bar.write("* a\n")
        clock.advance(by: .seconds(2))
        bar.show(TransferProgress(bytesReceived: 1))
        bar.write("* b\n")
        bar.end()
        bar.write("* c\n")
        #expect(written.messages.hasPrefix("* a\n\r\u{1B}[K1 B"))
        #expect(written.messages.hasSuffix("\r\u{1B}[K* b\n\r\u{1B}[K* c\n"))
    }
}
