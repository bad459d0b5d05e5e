// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCache

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The built command as a process of its own.
@Suite("The executable")
struct ExecutableTests {
    private struct Child {
        private let process: ChildProcess

        init(
            _ arguments: [String], input: ChildProcess.Stream = .pipe,
            output: ChildProcess.Stream = .pipe
        ) throws {
            try self.init(Program.path(of: "turnpike"), arguments, input, output)
        }

        /// The command with the redirections of a shell, as `exec >&-`.
        init(after preparation: String = "", shell line: String) throws {
            try self.init(
                "/bin/sh",
                ["-c", "\(preparation)exec \"$0\" \(line)", Program.path(of: "turnpike")])
        }

        private init(
            _ program: String, _ arguments: [String], _ input: ChildProcess.Stream = .pipe,
            _ output: ChildProcess.Stream = .pipe
        ) throws {
            // What hangs fails its test, and not the whole run.
            process = try ChildProcess(
                program, arguments, input: input, output: output, errors: .pipe,
                limit: .seconds(60))
        }

        func write(_ text: String) throws { try process.input.write(contentsOf: Data(text.utf8)) }

        func closeInput() throws { try process.input.close() }

        func signal(_ number: Int32) { process.signal(number) }

        /// One line, as soon as it is there.
        func readLine() async -> String {
            await Blocking.run { process.readLine() ?? "" }
        }

        /// Waits for the end.
        func end() async -> (status: Int32, output: String, messages: String) {
            let (end, output, messages) = await process.finished()
            return (
                end.status, String(decoding: output, as: UTF8.self),
                String(decoding: messages, as: UTF8.self)
            )
        }
    }

    @Test("Each command is recognised, and an unknown one is reported")
    func commands() async throws {
        let help = try await Child(["--help"]).end()
        #expect(help.status == 0)
        #expect(help.output.contains("turnpike send https://example.com/"))
        let wrong = try await Child(["sedn"]).end()
        #expect(wrong.status == 2)
        #expect(
            wrong.messages == "turnpike: there is no command \"sedn\"; did you mean \"send\"?\n")
        #expect(try await Child(["send"]).end().status == 2)
    }

    @Test("send writes the response to the output and exits with a status for the outcome")
    func send() async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "hello"))
        let sent = try await Child(["send", server.url.absoluteString + "x"]).end()
        #expect(sent.status == 0)
        #expect(sent.output == "hello")
        #expect(sent.messages.isEmpty)
        #expect(try await Child(["send", server.url.absoluteString + "missing"]).end().status == 5)
    }

    @Test("exec answers a line before it reads the next one")
    func exec() async throws {
        let child = try Child(["exec"])
        for id in ["a", "b"] {
            try child.write(
                "{\"id\": \"\(id)\", \"stack\": [], \"transport\": {\"use\": \"mock\"},")
            try child.write("\"request\": {\"url\": \"http://a.example/\"}}\n")
            let answer = try JSONValue(parsing: Data(await child.readLine().utf8))
            #expect(answer["id"]?.string == id)
            #expect(answer["outcome"] == "response")
        }
        try child.closeInput()
        #expect(await child.end().status == 0)
    }

    // Whoever else has them may have made them so, as other runtimes do.
    @Test("The command waits for a non-blocking input and output")
    func nonBlocking() async throws {
        let (input, output) = (Pipe(), Pipe())
        for end in [input.fileHandleForReading, output.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFL, O_NONBLOCK)
        }
        let child = try Child(
            ["exec"], input: .handle(input.fileHandleForReading),
            output: .handle(output.fileHandleForWriting))
        try output.fileHandleForWriting.close()
        // More answers than a pipe holds, which nobody reads before the input has ended.
        for count in [1, 1, 600] {
            let lines = String(repeating: Self.line + "\n", count: count)
            try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
            if count == 1 {
                let answer = await Blocking.run { output.fileHandleForReading.availableData }
                #expect(String(decoding: answer, as: UTF8.self).contains("\"status\":200"))
            }
        }
        try input.fileHandleForWriting.close()
        let answers = try await Blocking.run {
            Result { try output.fileHandleForReading.readToEnd() }
        }
        .get()
        let end = await child.end()
        #expect(end.status == 0 && end.messages.isEmpty)
        #expect(answers?.count { $0 == UInt8(ascii: "\n") } == 600)
    }

    @Test("A signal cancels send, which removes its partial file", arguments: Signals.ending)
    func interruptedSend(signal: Int32) async throws {
        let server = try TestServer()
        server.route("/x", .endless())
        let folder = TemporaryFolder()
        let child = try Child(
            ["send", server.url.absoluteString + "x", "-o", folder["out"]])
        try await server.waitForRequests(1)
        child.signal(signal)
        #expect(await child.end().status == 128 + signal)
        try await server.wait { $0.open == 0 }
        #expect(folder.names.isEmpty)
    }

    @Test(
        "A signal ends exec at once if it waits for input, otherwise after the line's answer",
        arguments: Signals.ending)
    func interruptedExec(signal: Int32) async throws {
        let server = try TestServer()
        server.route("/x", .silence)
        let busy = try Child(["exec"])
        try busy.write("{\"request\": {\"url\": \"\(server.url)x\"}, \"stack\": []}\n")
        try await server.waitForRequests(1)
        busy.signal(signal)
        let end = await busy.end()
        #expect(end.status == 128 + signal)
        #expect(end.output.contains("\"cancelled\""))
        let idle = try Child(["exec"])
        try idle.write("{}\n")
        _ = await idle.readLine()
        idle.signal(signal)
        #expect(await idle.end().status == 128 + signal)
    }

    private static let line =
        #"{"stack": [], "transport": {"use": "mock"}, "request": {"url": "http://a.example/"}}"#

    @Test(
        "An output that cannot be written, and an input that cannot be read, end exec with an error",
        arguments: [
            (">&-", "cannot write the output: Bad file descriptor"),
            ("<&-", "cannot read the input: Bad file descriptor"),
            ("<&- >&-", "cannot read the input: Bad file descriptor"),
            ("<&- >&- 2>&-", ""),
            ("</", "cannot read the input: Is a directory"),
            (Self.full, "cannot write the output: No space left on device"),
        ])
    func closedDescriptors(redirection: String, message: String) async throws {
        let child = try Child(shell: "exec \(redirection)")
        // To write where nobody reads would end the tests.
        if !redirection.contains("<") { try child.write(Self.line + "\n" + Self.line + "\n") }
        try child.closeInput()
        let end = await child.end()
        #expect(end.status == 7)
        #expect(end.messages == (message.isEmpty ? "" : "turnpike: \(message)\n"))
    }

    @Test(
        "A limit on the size of files is an error like a full disk",
        arguments: ["send URL -o 'FOLDER/out'", "exec >'FOLDER/out'"])
    func fileSizeLimit(command: String) async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "hello"))
        let folder = TemporaryFolder()
        let line = command.replacingOccurrences(of: "URL", with: server.url.absoluteString + "x")
            .replacingOccurrences(of: "FOLDER", with: folder[""])
        // What started the tests may ignore the signal, and what they start would, too.
        signal(SIGXFSZ, SIG_DFL)
        let child = try Child(after: "ulimit -f 0; ", shell: line)
        if line.hasPrefix("exec") { try child.write(Self.line + "\n") }
        try child.closeInput()
        let end = await child.end()
        #expect(end.status == 7)
        #expect(end.messages.hasSuffix(": File too large\n"))
        #expect(folder.names == (line.hasPrefix("exec") ? ["out"] : []))
    }

    // A device on which there is never any room.
    #if os(Linux)
    private static let full = ">/dev/full"
    #else
    private static let full = ">&- 2>&2"
    #endif

    @Test("A message that nobody can read stops nothing")
    func closedMessages() async throws {
        let child = try Child(shell: "exec 2>&-")
        try child.write(Self.line + "\n")
        try child.closeInput()
        let end = await child.end()
        #expect(end.status == 0 && end.output.contains("\"status\":200"))
    }

    #if os(Linux)
    @Test(
        "Each command reports that its output cannot be written",
        arguments: ["--help", "send --help", "send URL", "send --json URL", "cache list FOLDER"])
    func fullDevice(command: String) async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "hello"))
        let folder = TemporaryFolder()
        let cache = Cache(
            DiskStore(directory: folder["cache"], maxBytes: 1 << 20), partition: "test")
        let transport = MockTransport { _ in
            .status(200, headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
        }
        let client = Client(transport: transport, stack: [cache])
        _ = try await client.get("http://a.example/").data()
        await client.shutdown()
        let line = command.replacingOccurrences(of: "URL", with: server.url.absoluteString + "x")
            .replacingOccurrences(of: "FOLDER", with: folder["cache"])
        let end = try await Child(shell: line + " >/dev/full").end()
        #expect(end.status == 7)
        #expect(end.messages == "turnpike: cannot write the output: No space left on device\n")
    }

    @Test(
        "A file for metrics or a log that cannot be written is an error at the end",
        arguments: ["metrics", "log"], ["exec", "send"])
    func fullFile(gate: String, command: String) async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "hello"))
        let folder = TemporaryFolder()
        let stack = try folder.write(
            #"{"stack": [{"use": "\#(gate)", "to": "/dev/full"}]}"#, to: "stack.json")
        let url = server.url.absoluteString + "x"
        let child = try Child(
            shell: command == "exec"
                ? "exec --stack '\(stack)'" : "send --stack '\(stack)' \(url)")
        if command == "exec" { try child.write(#"{"request": {"url": "\#(url)"}}"# + "\n") }
        try child.closeInput()
        let end = await child.end()
        #expect(end.status == 7)
        #expect(end.output.contains("hello") || end.output.contains(#""status":200"#))
        #expect(end.messages.hasPrefix("turnpike: /dev/full: "), "\(end.messages)")
    }
    #endif

    @Test("A request whose content cannot be read ends as an error")
    func unreadableContent() async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "hello"))
        let url = server.url.absoluteString + "x"
        for redirection in ["<&-", "</"] {
            let end = try await Child(shell: "send \(url) -d @- \(redirection)").end()
            #expect(end.status == 7)
            #expect(end.messages.contains("cannot read the input"))
        }
    }
}
