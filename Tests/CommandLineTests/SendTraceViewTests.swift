// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("send --trace, and exec --trace-server")
struct SendTraceViewTests {
    private let server: TestServer
    private let folder = TemporaryFolder()
    private let terminal = FakeTerminal()

    init() throws { server = try TestServer() }

    private func url(_ path: String) -> String { server.url.absoluteString + path }

    private func send(_ arguments: String...) async -> Int32 {
        await SendCommand.run(arguments, terminal.terminal())
    }

    @Test("A waterfall is told on standard error, and the output is the content alone")
    func waterfall() async {
        server.route("/x", .ok(text: "hello"))
        #expect(await send(url("x?api_key=hunter1"), "--trace", "-u", "ada:hunter2") == 0)
        #expect(terminal.text == "hello")
        for name in ["GET /x", "Redirect", "Retry", "attempt 1", "body", "█"] {
            #expect(terminal.messages.contains(name), "\(name)")
        }
        #expect(!terminal.messages.contains("hunter") && !terminal.messages.contains("\u{1B}"))
    }

    @Test("A failed call has a trace as well, with its error")
    func failure() async {
        server.route("/x", .raw(Data()))
        #expect(await send(url("x"), "--trace") != 0)
        #expect(terminal.messages.contains("✗ "))
    }

    @Test(
        "The end of a file's name decides what is written",
        arguments: [
            ("a.html", "<!DOCTYPE html>"), ("a.har", "{\n  \"log\""), ("a.SVG", "<svg "),
            ("a.json", "{\n  \"id\""), ("a.otlp.json", "{\"resourceSpans\""),
        ])
    func files(name: String, beginning: String) async throws {
        server.route("/x", .ok(text: "hello"))
        let path = folder.url.appending(path: name)
        #expect(await send(url("x"), "--trace=\(path.path())") == 0)
        #expect(try String(contentsOf: path, encoding: .utf8).hasPrefix(beginning))
        #expect(terminal.text == "hello" && terminal.messages == "")
    }

    @Test("A name without a known end, and a second view, are mistakes")
    func mistakes() async {
        #expect(await send(url("x"), "--trace=a.txt") == ExitCode.usage)
        #expect(
            terminal.messages.contains("found \"a.txt\"; expected a file whose name ends in .html"))
        #expect(await send(url("x"), "--trace", "--trace=a.har") == ExitCode.usage)
        #expect(terminal.messages.contains("--trace was given twice"))
        #expect(server.requests.isEmpty)
    }

    @Test("A file that cannot be written is told, and the content is still written")
    func unwritable() async {
        server.route("/x", .ok(text: "hello"))
        let path = folder.url.appending(path: "none/a.har").path()
        #expect(await send(url("x"), "--trace=\(path)") == 7)
        #expect(terminal.text == "hello")
        #expect(terminal.messages.contains("cannot write \(path)"))
    }

    @Test("exec names the address of its trace server, which ends with the input")
    func serverOfExec() async throws {
        server.route("/x", .ok(text: "hello"))
        let input = "{\"request\": {\"url\": \"\(url("x"))\"}}\n"
        let terminal = FakeTerminal(input: input)
        let status = await ExecCommand.run(["--trace-server"], terminal.terminal())
        #expect(status == 0 && terminal.answers.count == 1)
        let form = #/traces: http://127\.0\.0\.1:([0-9]+)/[0-9a-f]{32}/\n/#
        #expect(terminal.messages.wholeMatch(of: form) != nil, "\(terminal.messages)")
        let twice = await ExecCommand.run(
            ["--trace-server", "--trace-server"], terminal.terminal())
        #expect(twice == ExitCode.usage)
    }
}
