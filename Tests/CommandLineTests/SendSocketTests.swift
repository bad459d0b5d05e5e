// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("The command send with a WebSocket", .timeLimit(.minutes(2)))
struct SendSocketTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/echo", .webSocketEcho())
    }

    private func url(_ path: String) -> String {
        "ws://" + server.url.absoluteString.dropFirst("http://".count) + path
    }

    /// A terminal whose input does not end before the hold is opened.
    private func held(_ typed: FakeTerminal) -> (Terminal, DispatchSemaphore) {
        var terminal = typed.terminal()
        let read = terminal.input
        let hold = DispatchSemaphore(value: 0)
        terminal.input = { count in
            let bytes = try read(count)
            if bytes.isEmpty { hold.wait() }
            return bytes
        }
        return (terminal, hold)
    }

    @Test(
        "Each line of the input is a message, each message a line of the output, until the input ends"
    )
    func lines() async throws {
        let input = (0..<300).map { "\($0) é" }.joined(separator: "\n")
        let terminal = FakeTerminal(input: input + "\n\n")
        let arguments = [
            url("echo"), "-H", "Origin: https://example.com", "-u", "ada:x", "-v", "-i",
        ]
        #expect(await SendCommand.run(arguments, terminal.terminal()) == 0, "\(terminal.messages)")
        let parts = terminal.text.split(separator: "\n\n", maxSplits: 1)
        #expect(parts.first?.hasPrefix("HTTP/1.1 101") == true)
        // The empty line is an empty message.
        #expect(parts[at: 1].map { String($0) } == input + "\n\n")
        let request = try #require(server.requests.first)
        #expect(request.headers["Origin"] == "https://example.com")
        #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
        for note in [
            "> GET ", "< HTTP/1.1 101", "* the socket is open", "* the server closed: 1000",
        ] {
            #expect(terminal.messages.contains(note), "\(terminal.messages)")
        }
        #expect(!terminal.messages.contains("ada:x"))
    }

    @Test("A terminal gets JSON laid out, and no control characters of a server")
    func shown() async {
        let terminal = FakeTerminal(input: "{\"a\":1}\nbell\u{7}\n")
        let status = await SendCommand.run(
            [url("echo")], terminal.terminal(outputIsTerminal: true))
        #expect(status == 0)
        #expect(terminal.text == "{\n  \"a\": 1\n}\nbell\\u{7}\n")
    }

    @Test(
        "How the server closes decides the exit status, and the input need not end for it",
        arguments: [
            ("end 1000", 0, ""), ("end 4000", 1, "4000"), ("end 1012", 3, "1012"),
            ("end 1005", 6, "1005"),
        ]
            as [(String, Int32, String)])
    func closedByServer(line: String, status: Int32, message: String) async {
        let typed = FakeTerminal(input: line + "\n")
        let (terminal, hold) = held(typed)
        defer { hold.signal() }
        #expect(await SendCommand.run([url("echo")], terminal) == status)
        #expect(message.isEmpty ? typed.messages.isEmpty : typed.messages.contains(message))
        #expect(typed.text.isEmpty)
    }

    @Test("A handshake that is refused, or finds nobody, ends as a request would")
    func refused() async throws {
        server.route("/no", .status(403))
        let terminal = FakeTerminal(input: "x\n")
        #expect(await SendCommand.run([url("no"), "--trace"], terminal.terminal()) == 5)
        #expect(terminal.messages.contains("403"))
        // The handshake is traced, refused or not.
        #expect(terminal.messages.contains("GET"))
        server.route("/silent", .silence)
        let late = await SendCommand.run([url("silent"), "--timeout", "0.1"], terminal.terminal())
        #expect(late == 4)
        server.stop()
        #expect(await SendCommand.run([url("echo")], terminal.terminal()) == 3)
        let other = await SendCommand.run(
            [url("echo"), "--transport", "urlsession"], terminal.terminal())
        #expect(other == 2)
        #expect(terminal.text.isEmpty)
    }

    @Test("Input that is no text is refused, and closes the socket")
    func notText() async {
        let typed = FakeTerminal()
        let feed = Feed(Data([0x61, 0x0A, 0xFF, 0x0A]), portion: 100)
        var terminal = typed.terminal()
        terminal.input = { feed.next(upTo: $0) }
        #expect(await SendCommand.run([url("echo")], terminal) == 7)
        #expect(typed.messages.contains("not UTF-8"))
        #expect(typed.text == "a\n")
    }

    @Test(
        "What a WebSocket cannot use is refused before anything is sent",
        arguments: [["-d", "x"], ["-F", "a=b"], ["-o", "file"], ["--json"]])
    func useless(option: [String]) async {
        let terminal = FakeTerminal()
        for url in ["ws://localhost/", "WSS://localhost/"] {
            #expect(await SendCommand.run([url] + option, terminal.terminal()) == 2)
        }
        #expect(await SendCommand.run(["PUT", "ws://localhost/"], terminal.terminal()) == 2)
        #expect(terminal.messages.contains("a WebSocket excludes"))
    }

    @Test("Ctrl-C ends it, and a reader that has closed the output too")
    func ended() async {
        let (shown, wasShown) = AsyncStream.makeStream(of: Void.self)
        let typed = FakeTerminal(input: "hello\n") { _ in wasShown.yield() }
        let (terminal, hold) = held(typed)
        defer { hold.signal() }
        let task = Task { [url = url("echo")] in await SendCommand.run([url], terminal) }
        for await _ in shown { break }
        task.cancel()
        #expect(await task.value == 130)
        let closed = FakeTerminal(input: "hello\n")
        closed.close()
        #expect(await SendCommand.run([url("echo")], closed.terminal()) == 7)
        #expect(closed.messages.isEmpty)
    }
}
