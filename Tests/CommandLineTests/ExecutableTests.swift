import Foundation
import Testing
import Turnpike
import TurnpikeTesting

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
    // SAFETY: it is used by one test, which waits for what it does elsewhere.
    private final class Child: @unchecked Sendable {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private let messages = Pipe()

        init(_ arguments: [String]) throws {
            process.executableURL = Bundle.main.bundleURL.appending(path: "turnpike")
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = output
            process.standardError = messages
            try process.run()
        }

        func write(_ text: String) throws {
            try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        }

        func closeInput() throws { try input.fileHandleForWriting.close() }

        func signal(_ number: Int32) { kill(process.processIdentifier, number) }

        /// One line, as soon as it is there.
        func readLine() async -> String {
            await Blocking.run { [self] in
                var line = Data()
                while let byte = try? output.fileHandleForReading.read(upToCount: 1),
                    byte != Data("\n".utf8), !byte.isEmpty
                { line += byte }
                return String(decoding: line, as: UTF8.self)
            }
        }

        /// Waits for the end.
        func end() async -> (status: Int32, output: String, messages: String) {
            await Blocking.run { [self] in waitForEnd() }
        }

        private func waitForEnd() -> (status: Int32, output: String, messages: String) {
            let output = (try? output.fileHandleForReading.readToEnd()) ?? nil
            let messages = (try? messages.fileHandleForReading.readToEnd()) ?? nil
            process.waitUntilExit()
            return (
                process.terminationReason == .exit ? process.terminationStatus : -1,
                String(decoding: output ?? Data(), as: UTF8.self),
                String(decoding: messages ?? Data(), as: UTF8.self)
            )
        }
    }

    // A process that was started so as to ignore SIGINT has children that do.
    private static let signals: [Int32] = {
        var action = sigaction()
        unsafe sigaction(SIGINT, nil, &action)
        #if canImport(Darwin)
        return [SIGTERM]
        #else
        let isIgnored =
            unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        return isIgnored ? [SIGTERM] : [SIGINT, SIGTERM]
        #endif
    }()

    @Test("Commands are told apart, and a wrong one is told")
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

    @Test("send writes the answer to the output, and exits by what came of it")
    func send() async throws {
        let server = try TestServer()
        server.route("/x", .text("hello"))
        let sent = try await Child(["send", server.url.absoluteString + "x"]).end()
        #expect(sent.status == 0)
        #expect(sent.output == "hello")
        #expect(sent.messages.isEmpty)
        #expect(try await Child(["send", server.url.absoluteString + "missing"]).end().status == 5)
    }

    @Test("exec answers a line before the next one comes")
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

    @Test("A signal cancels send, which leaves no file behind", arguments: signals)
    func interruptedSend(signal: Int32) async throws {
        let server = try TestServer()
        server.route("/x", .endless())
        let folder = try TemporaryFolder()
        let child = try Child(
            ["send", server.url.absoluteString + "x", "-o", folder.path("out")])
        await server.waitForRequests(1)
        child.signal(signal)
        #expect(await child.end().status == 128 + signal)
        await server.wait { $0.open == 0 }
        #expect(folder.names.isEmpty)
    }

    @Test(
        "A signal ends exec: at once where it waits, else behind the line's answer",
        arguments: signals)
    func interruptedExec(signal: Int32) async throws {
        let server = try TestServer()
        server.route("/x", .silence)
        let busy = try Child(["exec"])
        try busy.write("{\"request\": {\"url\": \"\(server.url)x\"}, \"stack\": []}\n")
        await server.waitForRequests(1)
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
}
