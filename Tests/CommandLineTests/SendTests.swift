// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("The command send")
struct SendTests {
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

    @Test("The response is written byte for byte")
    func bytes() async {
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        server.route("/x", .ok(data: content))
        #expect(await send(url("x")) == 0)
        #expect(terminal.output == content)
        #expect(terminal.messages.isEmpty)
    }

    @Test("The response is written as it arrives")
    func streamed() async {
        server.route("/x", .endless(Data("more".utf8)))
        let (shown, wasShown) = AsyncStream.makeStream(of: Void.self)
        let seen = FakeTerminal { _ in wasShown.yield() }
        let task = Task { [url = url("x")] in await SendCommand.run([url], seen.terminal()) }
        // Of an answer that never ends, a buffer would show nothing.
        for await _ in shown { break }
        task.cancel()
        #expect(await task.value == 130)
        #expect(seen.text.hasPrefix("more"))
    }

    @Test("Method, header fields and content are sent as given")
    func request() async throws {
        server.route("/x", .ok(text: "ok"))
        let file = try folder.write("from a file", to: "body")
        #expect(await send("put", url("x"), "-H", "X-A: 1", "-H", "X-A: 2", "-d", "@" + file) == 0)
        #expect(await send(url("x"), "-d", "text", "-H", "Content-Type: text/csv") == 0)
        let first = try #require(server.requests.first)
        #expect(first.method == .put)
        #expect(first.headers["X-A"] == "1, 2")
        #expect(first.body == Data("from a file".utf8))
        let second = try #require(server.requests.last)
        #expect(second.method == .post)
        #expect(second.headers[.contentType] == "text/csv")
        #expect(second.body == Data("text".utf8))
    }

    @Test("The input can be the content")
    func input() async throws {
        server.route("/x", .ok(text: "ok"))
        let terminal = FakeTerminal(input: "piped")
        #expect(await SendCommand.run([url("x"), "-d", "@-"], terminal.terminal()) == 0)
        #expect(server.requests.first?.body == Data("piped".utf8))
    }

    @Test("Fields and files are sent as a multipart form")
    func form() async throws {
        server.route("/x", .ok(text: "ok"))
        let file = try folder.write("a photo", to: "sea.txt")
        #expect(await send(url("x"), "-F", "title=Sea & sun", "-F", "photo=@" + file) == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == .post)
        #expect(request.headers[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        let body = String(decoding: request.body, as: UTF8.self)
        for part in ["name=\"title\"", "Sea & sun", "filename=\"sea.txt\"", "a photo"] {
            #expect(body.contains(part))
        }
        #expect(await send(url("x"), "-F", "photo=@" + folder["missing"]) == 7)
    }

    @Test("An unsuccessful status is reported, its content shown, and the exit status set")
    func refused() async {
        server.route("/x", .status(404, body: Data("no such page".utf8)))
        #expect(await send(url("x")) == 5)
        #expect(terminal.text == "no such page")
        #expect(terminal.messages.contains("404"))
    }

    @Test("A refusal shows the problem that the server tells of, without secrets")
    func problem() async {
        let type: HTTPHeaders = ["Content-Type": "application/problem+json"]
        let text = #"{"title":"Not valid","detail":"no stock; token=s3cret-1234567890"}"#
        server.route("/x", .status(422, headers: type, body: Data(text.utf8)))
        let long = #"{"title":"\#(String(repeating: "x", count: 70_000))"}"#
        server.route("/long", .status(422, headers: type, body: Data(long.utf8)))
        for more in [[], ["-o", folder["out"]]] {
            let terminal = FakeTerminal()
            #expect(await SendCommand.run([url("x")] + more, terminal.terminal()) == 5)
            #expect(terminal.text == text)
            #expect(
                terminal.messages.contains("[problem: Not valid: no stock"), "\(terminal.messages)")
            #expect(!terminal.messages.contains("s3cret"))
        }
        #expect(await send(url("long")) == 5)
        #expect(terminal.text == long)
        #expect(terminal.messages.contains("422") && !terminal.messages.contains("xxx"))
    }

    @Test("Redirects are followed, and transient failures retried")
    func gates() async {
        server.route("/a", .redirect(302, to: "/b"))
        server.route("/b", .status(503), .ok(text: "there"))
        #expect(await send(url("a")) == 0)
        #expect(terminal.text == "there")
    }

    @Test("A file holds the complete response")
    func file() async throws {
        server.route("/x", .ok(text: "new"))
        try folder.write("old", to: "out")
        #expect(await send(url("x"), "-o", folder["out"]) == 0)
        #expect(folder.contents(of: "out") == Data("new".utf8))
        #expect(folder.names == ["out"])
        #expect(terminal.output.isEmpty)
    }

    @Test("A file has the given name, whatever characters it contains")
    func fileNames() async throws {
        server.route("/x", .ok(text: "new"))
        let names = ["a b", "100%", "%41", "ü?#", String(repeating: "語", count: 80)]
        for name in names {
            #expect(await send(url("x"), "-o", folder[name]) == 0)
            #expect(folder.contents(of: name) == Data("new".utf8), "\(name)")
        }
        #expect(folder.names == names.sorted())
    }

    @Test("A file keeps its mode, and a link stays one")
    func fileModes() async throws {
        server.route("/x", .ok(text: "new"))
        let manager = FileManager.default
        try folder.write("old", to: "out")
        try manager.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder["out"])
        try manager.createSymbolicLink(
            atPath: folder["link"], withDestinationPath: folder["out"])
        #expect(await send(url("x"), "-o", folder["link"]) == 0)
        #expect(folder.contents(of: "out") == Data("new".utf8))
        let attributes = try manager.attributesOfItem(atPath: folder["out"])
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(folder.names == ["link", "out"])
        #expect(try manager.destinationOfSymbolicLink(atPath: folder["link"]) != "")
    }

    @Test(
        "A refused or incomplete response leaves the file unchanged",
        arguments: [
            (TestAnswer.status(500, body: Data("sorry".utf8)), 5),
            (.short(declared: 100, sent: Data("half".utf8)), 6),
        ] as [(TestAnswer, Int32)])
    func fileKept(answer: TestAnswer, status: Int32) async throws {
        server.route("/x", answer)
        try folder.write("old", to: "out")
        #expect(await send("POST", url("x"), "-o", folder["out"]) == status)
        #expect(folder.contents(of: "out") == Data("old".utf8))
        #expect(folder.names == ["out"])
    }

    @Test("A device is written to, not replaced")
    func device() async {
        server.route("/x", .ok(text: "x"))
        #expect(await send(url("x"), "-o", "/dev/null") == 0)
        var info = stat()
        #expect(unsafe stat("/dev/null", &info) == 0)
        #expect(info.st_mode & S_IFMT == S_IFCHR)
    }

    @Test("A file that cannot be written is reported before anything is stored")
    func badFile() async {
        server.route("/x", .ok(text: "x"))
        #expect(await send(url("x"), "-o", folder["no/such/folder"]) == 7)
        #expect(terminal.messages.contains("cannot write"))
    }

    @Test("Cancelling ends the call and leaves nothing behind")
    func cancelled() async throws {
        server.route("/x", .endless())
        let arguments = [url("x"), "-o", folder["out"]]
        let task = Task { [terminal] in await SendCommand.run(arguments, terminal.terminal()) }
        try await server.waitForRequests(1)
        task.cancel()
        #expect(await task.value == 130)
        try await server.wait { $0.open == 0 }
        #expect(folder.names.isEmpty)
        #expect(terminal.messages.isEmpty)
    }

    @Test("Errors of every class have their exit status")
    func exitStatus() async throws {
        server.route("/silent", .silence)
        server.route("/odd", .raw(Data("nonsense\r\n\r\n".utf8)))
        let stack = try folder.write(
            #"{"stack": [{"use": "deadline", "seconds": 0.05}]}"#, to: "stack.json")
        #expect(await send("relative/path") == 2)
        #expect(await send(url("x"), "-H", "bad name: x") == 2)
        #expect(await send("POST", "http://127.0.0.1:1/") == 3)
        #expect(await send("--stack", stack, url("silent")) == 4)
        #expect(await send(url("odd"), "-d", "x") != 0)
        #expect(await send(url("x"), "-d", "@" + folder["missing"]) == 7)
        #expect(await send("--stack", folder["missing"], url("x")) == 2)
        #expect(await send() == 2)
    }

    @Test("A closed output ends the call without a message")
    func brokenPipe() async {
        server.route("/x", .bytes(10_000_000))
        terminal.close()
        #expect(await send(url("x")) == 7)
        #expect(terminal.messages.isEmpty)
    }

    @Test("Help teaches by example and documents the exit status")
    func help() async {
        #expect(await send("--help") == 0)
        for part in ["-d @-", "-o big.iso", "--stack stack.json", "130  ended by Ctrl-C"] {
            #expect(terminal.text.contains(part))
        }
    }
}
