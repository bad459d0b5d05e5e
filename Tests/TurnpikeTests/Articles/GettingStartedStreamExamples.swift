// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

struct Question: Encodable, Sendable {
    var model = "small"
    var prompt: String
    var stream = true
}

struct Piece: Decodable {
    var text: String
}

private func show(_ text: String) {}

func answer(_ client: Client, to question: Question) async throws -> String {
    let events = client.post("completions", json: question)
        .retryable()  // 429, 503, a lost connection: as long as no answer has begun
        .deadline(.seconds(120)).attemptTimeout(.seconds(60))  // both end with the head
        .events(reconnects: 0, idleLimit: .seconds(60))
    var answer = ""
    for try await event in events {
        if event.data == "[DONE]" { return answer }
        let piece = try JSONValueDecoder().decode(Piece.self, from: Data(event.data.utf8))
        answer += piece.text
        show(piece.text)
    }
    throw ClientError(.incomplete, "the answer ended before [DONE]")
}

func within<Value: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: limit)
            throw ClientError(.deadlineExceeded, "there was no result within \(limit)")
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}

func signals(_ number: Int32) -> AsyncStream<Void> {
    signal(number, SIG_IGN)  // the system's own action would end the process
    // A source may be used from any thread, but is not marked as Sendable.
    nonisolated(unsafe) let source = DispatchSource.makeSignalSource(
        signal: number, queue: .global())
    return AsyncStream { continuation in
        source.setEventHandler { continuation.yield() }
        continuation.onTermination = { _ in source.cancel() }
        source.resume()
    }
}

func shutDown(_ client: Client) async {
    for await _ in signals(SIGTERM) {
        await client.shutdown(grace: .seconds(20))  // less than the time that the supervisor gives
        break
    }
}

@Suite("Getting started: streams and shutdown")
struct GettingStartedStreamExamples {
    private let events: HTTPHeaders = ["Content-Type": "text/event-stream"]

    private func pieces(_ texts: String..., end: String = "") -> [Data] {
        (texts.map { "data: {\"text\": \"\($0)\"}\n\n" } + [end]).map { Data($0.utf8) }
    }

    @Test("An answer comes in events, after a refusal that names a time")
    func answers() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .any(
                .status(429, headers: ["Retry-After": "7"]),
                .stream(pieces("Mars", " it is", end: "data: [DONE]\n\n"), headers: events),
                .stream(pieces("Ma"), headers: events))
        ])
        let client = Client(
            baseURL: "http://test.example/v1/", transport: transport, timeSource: clock)
        async let text = answer(client, to: Question(prompt: "Which planet is red?"))
        try await clock.waitForTimer(in: .seconds(7))
        clock.advance(by: .seconds(7))
        #expect(try await text == "Mars it is")
        await #expect { try await answer(client, to: Question(prompt: "And now?")) } throws: {
            ClientError.Code.incomplete ~= $0
        }
        #expect(transport.sentCount == 3)
    }

    @Test("An answer that ends is not held up by the limit for the whole")
    func inTime() async throws {
        let transport = MockTransport([
            .any(.stream(pieces("Mars", end: "data: [DONE]\n\n"), headers: events))
        ])
        let client = Client(baseURL: "http://test.example/v1/", transport: transport)
        let question = Question(prompt: "Which planet is red?")
        let text = try await within(.seconds(300)) { try await answer(client, to: question) }
        #expect(text == "Mars")
    }

    @Test("A task that is cancelled leaves an answer in the middle")
    func cancellation() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .any(.stream(pieces("Mars", "is"), headers: events, every: .seconds(1)))
        ])
        let client = Client(
            baseURL: "http://test.example/v1/", transport: transport, timeSource: clock)
        let task = Task { try await answer(client, to: Question(prompt: "Which?")) }
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(in: .seconds(1))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("An answer that does not end is ended by a limit for the whole")
    func limit() async throws {
        let transport = MockTransport([
            .any(.stream(pieces("Mars"), headers: events, every: .seconds(1)))
        ])
        let client = Client(
            baseURL: "http://test.example/v1/", transport: transport, timeSource: ManualClock())
        let question = Question(prompt: "Which planet is red?")
        await #expect {
            try await within(.milliseconds(1)) { try await answer(client, to: question) }
        } throws: {
            ClientError.Code.deadlineExceeded ~= $0
        }
    }

    @Test("A shutdown cancels what outlasts it, and refuses what comes later")
    func shutdown() async throws {
        let clock = ManualClock()
        let client = Client(
            transport: MockTransport { _ in .ok().delayed(by: .seconds(60)) }, stack: [],
            timeSource: clock)
        let call = Task { try await client.get("http://a.example/").empty() }
        try await clock.waitForTimers(1)
        await client.shutdown()
        await #expect(throws: CancellationError.self) { try await call.value }
        await #expect { try await client.get("http://a.example/").empty() } throws: {
            ClientError.Code.cancelled ~= $0
        }
    }
}
