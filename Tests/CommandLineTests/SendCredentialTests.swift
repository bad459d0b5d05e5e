// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("send with a password, a time limit, and transports")
struct SendCredentialTests {
    private let server: TestServer
    private let folder = TemporaryFolder()
    private let terminal = FakeTerminal()

    init() throws {
        server = try TestServer()
        server.route("/x", .ok(text: "ok"))
    }

    private func url(_ path: String) -> String { server.url.absoluteString + path }

    private func send(_ arguments: String...) async -> Int32 {
        await SendCommand.run(arguments, terminal.terminal())
    }

    private static func field(_ text: String) -> String {
        "Basic " + Data(text.utf8).base64EncodedString()
    }

    @Test("-u sends a credential for Basic authentication, in composed UTF-8")
    func user() async {
        #expect(await send(url("x"), "-u", "ada:lo:ve") == 0)
        #expect(server.requests.last?.headers[.authorization] == Self.field("ada:lo:ve"))
        #expect(await send(url("x"), "-u", "a:e\u{301}") == 0)
        #expect(server.requests.last?.headers[.authorization] == Self.field("a:\u{E9}"))
    }

    @Test("A redirect takes the credential to no other origin")
    func redirect() async throws {
        let other = try TestServer()
        other.route("/y", .ok(text: "there"))
        server.route("/r", .redirect(302, to: other.url.absoluteString + "y"))
        #expect(await send(url("r"), "-u", "ada:lovelace") == 0)
        #expect(server.requests.last?.headers[.authorization] == Self.field("ada:lovelace"))
        #expect(other.requests.count == 1)
        #expect(other.requests.last?.headers[.authorization] == nil)
    }

    @Test("The credential goes before one of a stack file")
    func stackFile() async throws {
        let file = try folder.write(
            #"{"stack": [{"use": "basic", "user": "file", "password": "p"}]}"#, to: "stack.json")
        #expect(await send("--stack", file, url("x"), "-u", "ada:lovelace") == 0)
        #expect(server.requests.last?.headers[.authorization] == Self.field("ada:lovelace"))
    }

    @Test("A password that is left out is asked for, with the name")
    func prompt() async {
        let prompts = Mutex<[String]>([])
        let asked = terminal.terminal(password: { prompt in
            prompts.withLock { $0.append(prompt) }
            return "love lace"
        })
        #expect(await SendCommand.run([url("x"), "-u", "ad\u{9B}a"], asked) == 0)
        #expect(prompts.withLock { $0 } == ["Password of ad\\u{9b}a: "])
        #expect(server.requests.last?.headers[.authorization] == Self.field("ad\u{9B}a:love lace"))
        #expect(await SendCommand.run([url("x"), "-u", "ada:"], asked) == 0)
        #expect(prompts.withLock { $0.count } == 1)
    }

    @Test("Nothing is sent without a terminal to ask, or if the question is cancelled")
    func noPrompt() async {
        #expect(await send(url("x"), "-u", "ada") == 2)
        #expect(terminal.messages.contains("there is no terminal to ask for it"))
        let cancelled = FakeTerminal()
        let asked = cancelled.terminal(password: { _ in throw CancellationError() })
        #expect(await SendCommand.run([url("x"), "-u", "ada"], asked) == 130)
        #expect(cancelled.messages.isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test("--timeout ends the call with its content, also that of a stack file")
    func timeout() async throws {
        server.route("/silent", .silence)
        server.route("/endless", .endless())
        let stack = try folder.write(
            #"{"stack": [{"use": "deadline", "seconds": 100}]}"#, to: "stack.json")
        #expect(await send(url("silent"), "--timeout", "0.05") == 4)
        #expect(await send(url("endless"), "--timeout", "0.2", "-o", "/dev/null") == 4)
        #expect(await send(url("silent"), "--timeout", "0.05", "--stack", stack) == 4)
        #expect(terminal.messages.contains("deadlineExceeded"))
        #expect(await send(url("x"), "--timeout", "60") == 0)
    }

    @Test("curl is the default where it can be loaded, otherwise urlsession with the reason")
    func defaultTransport() throws {
        let curl = try SendTransport(nil) { MockTransport([]) }
        #expect(curl.transport is MockTransport)
        #expect(curl.description == "curl")
        let missing = try SendTransport(nil) {
            throw ClientError(.unsupported, "there is no libcurl")
        }
        #expect(missing.transport is URLSessionTransport)
        #expect(missing.description == "urlsession, because there is no libcurl")
    }

    @Test("A transport that was chosen is used, or its error reported")
    func chosenTransport() throws {
        let session = try SendTransport(.urlsession) { throw CancellationError() }
        #expect(session.transport is URLSessionTransport)
        #expect(session.description == "urlsession")
        let error = #expect(throws: ClientError.self) {
            try SendTransport(.curl) { throw ClientError(.unsupported, "none") }
        }
        #expect(error?.code == .unsupported)
    }

    // The pool has a thread for each core, and each of these reads waits for the last one to begin.
    @Test("Input that does not come holds no thread of the pool")
    func blockingInput() async throws {
        server.route("/x", .ok(text: "ok"))
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount
        let begun = Atomic(0)
        let gate = DispatchSemaphore(value: 0)
        let statuses = try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                let hasRead = Mutex(false)
                var input = terminal.terminal()
                input.input = { _ in
                    if hasRead.withLock({ read in
                        defer { read = true }
                        return read
                    }) {
                        return Data()
                    }
                    begun.add(1, ordering: .relaxed)
                    if gate.wait(timeout: .now() + 60) == .timedOut {
                        throw OutputError(description: "the other reads have not begun")
                    }
                    return Data("late".utf8)
                }
                group.addTask { [input, url = url("x")] in
                    await SendCommand.run([url, "-d", "@-"], input)
                }
            }
            defer { for _ in 0..<count { gate.signal() } }
            try await until("all reads") { begun.load(ordering: .relaxed) == count }
            for _ in 0..<count { gate.signal() }
            return try await group.reduce(into: [Int32]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 0, count: count))
        #expect(server.requests.allSatisfy { $0.body == Data("late".utf8) })
    }

    @Test("A send that waits for input can be cancelled")
    func cancelledInput() async throws {
        let begun = Atomic(false)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        var input = terminal.terminal()
        input.input = { _ in
            begun.store(true, ordering: .relaxed)
            gate.wait()
            return Data()
        }
        let task = Task { [input, url = url("x")] in
            await SendCommand.run([url, "-d", "@-"], input)
        }
        try await until("the read") { begun.load(ordering: .relaxed) }
        task.cancel()
        #expect(await task.value == 130)
    }
}
