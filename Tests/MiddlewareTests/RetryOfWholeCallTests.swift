// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A call for a value is tried again as a whole: its content may break off, too.
@Suite("Retry of a call for a whole value")
struct RetryOfWholeCallTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)
    private let wait = Backoff(base: .seconds(10), jitter: .none)
    private let broken = MockResponse.stream(
        [Data("ab".utf8)], thenThrow: ClientError(.incomplete, "x", transfer: .init(.receiving)))
    private let whole = MockResponse.stream([Data("a".utf8), Data("bc".utf8)])

    private func client(_ answers: [MockResponse], _ stack: Stack) -> (Client, MockTransport) {
        let transport = MockTransport([MockStub(answers) { _ in true }])
        return (Client(transport, clock: clock, stack), transport)
    }

    /// A serializer that says how much it reads, and reads all.
    private struct Reading: ResponseSerializer {
        let bytes: Int

        func collectedBytes(in table: SerializerTable) -> Int { bytes }

        func serialize(_ response: Response, context: SerializationContext) async throws
            -> Response
        {
            var copy = response
            copy.body = ResponseBody(try await response.body.collect(upTo: .max - 1))
            return copy
        }
    }

    @Test("Content that breaks off is requested again, and the value is from the second response")
    func again() async throws {
        let (client, transport) = client([broken, whole], [.retry(backoff: now)])
        let response = try await client.get(anywhere).serialize(with: Reading(bytes: .max))
        #expect(try await response.body.collect(upTo: 10) == Data("abc".utf8))
        #expect(transport.sentCount == 2)
        #expect(response.attempts == 2)
        #expect(response.timeline.bodyBytesReceived == 3)
    }

    @Test("If the caller gets a stream, the head ends the retries", arguments: [true, false])
    func streamed(isSerialized: Bool) async throws {
        let (client, transport) = client([broken, whole], [.retry(backoff: now)])
        let error = await #expect(throws: ClientError.self) {
            if isSerialized {
                _ = try await client.get(anywhere).serialize(with: Reading(bytes: 0))
            } else {
                _ = try await client.get(anywhere).response().body.collect(upTo: 10)
            }
        }
        #expect(error?.code == .incomplete)
        #expect(transport.sentCount == 1)
    }

    @Test(
        "Only requests that may be sent twice are retried",
        arguments: [
            (Request(.get, anywhere), 3), (Request(.put, anywhere, body: .text("x")), 3),
            (Request(.delete, anywhere), 3), (Request(.post, anywhere), 1),
            (Request(.patch, anywhere, body: .text("x")), 1),
            (Request(.post, anywhere, headers: ["Idempotency-Key": "1"]), 3),
            (
                Request(
                    .put, anywhere,
                    body: .stream(length: 1, replayable: false) {
                        AsyncStream<Data> { stream in
                            stream.yield(Data("x".utf8))
                            stream.finish()
                        }
                    }), 1
            ),
        ])
    func methods(request: Request, expected: Int) async {
        let (client, transport) = client([broken], [.retry(backoff: now)])
        #expect(await code(of: client.request(request)) == .incomplete)
        #expect(transport.sentCount == expected)
    }

    @Test("A call that is marked retryable, or not, is treated so")
    func word() async {
        let (client, transport) = client([broken], [.retry(backoff: now)])
        _ = await code(of: client.get(anywhere).retryable(false))
        #expect(transport.sentCount == 1)
        _ = await code(of: client.post(anywhere).retryable())
        #expect(transport.sentCount == 4)
    }

    @Test("A policy without incomplete content, or a single attempt, keeps nothing")
    func policies() async {
        for stack: Stack in [
            [.retry(policy: .never, backoff: now)], [.retry(attempts: 1)],
            [.retry(backoff: now, maxKeptBytes: 0)],
        ] {
            let (client, transport) = client([broken, whole], stack)
            #expect(await code(of: client.get(anywhere)) == .incomplete)
            #expect(transport.sentCount == 1)
        }
        let only = RetryPolicy.never.deciding { $0.code == .incomplete }
        let (client, transport) = client([broken, whole], [.retry(policy: only, backoff: now)])
        #expect(await code(of: client.get(anywhere)) == nil)
        #expect(transport.sentCount == 2)
    }

    @Test("The call ends as without retries, and lists each attempt")
    func exhausted() async throws {
        let (client, _) = client([broken], [.retry(attempts: 3, backoff: now)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).serialize(with: Text())
        }
        #expect(error?.code == .incomplete && error?.attempts == 3)
        // The last one is not kept: its head has let it go.
        #expect(error?.history.map(\.errorType) == ["incomplete", "incomplete", nil])
        #expect(error?.history.map(\.status) == [nil, nil, 200])
    }

    @Test("A response that is not a success is judged by its head")
    func codes() async {
        for status: HTTPStatus in [404, 410, 302, 501] {
            let answer = MockResponse.stream(
                [Data("ab".utf8)], status: status, thenThrow: ClientError(.incomplete, "x"))
            let (client, transport) = client([answer], [.retry(backoff: now)])
            #expect(await code(of: client.get(anywhere)) == .incomplete)
            #expect(transport.sentCount == 1)
        }
    }

    // MARK: Limits

    @Test(
        "Larger content is passed on as it arrives, without loss",
        arguments: [(4, 2), (5, 2), (6, 1), (1000, 1)])
    func larger(count: Int, expected: Int) async throws {
        let chunks = (0..<count).map { _ in Data("x".utf8) }
        let cut = MockResponse.stream(chunks, thenThrow: ClientError(.incomplete, "x"))
        let (client, transport) = client(
            [cut, .stream(chunks)], [.retry(backoff: now, maxKeptBytes: 5)])
        let value = try? await client.get(anywhere).serialize(with: Text())
        #expect(transport.sentCount == expected)
        #expect(value?.count == (expected == 2 ? count : nil))
        let (good, _) = self.client([.stream(chunks)], [.retry(backoff: now, maxKeptBytes: 5)])
        #expect(try await good.get(anywhere).serialize(with: Text()).count == count)
    }

    @Test("Content with a larger declared length is not awaited")
    func announced() async throws {
        let seen = Mutex(false)
        let stack: Stack = [
            Around { request, _, next in
                let response = try await next(request)
                seen.withLock { $0 = true }
                return response
            },
            .retry(maxKeptBytes: 5),
            Around { request, _, next in
                var response = try await next(request)
                response.body = ResponseBody(
                    AsyncStream<Data> { _ in }, length: 6)
                return response
            },
        ]
        let client = Client(MockTransport { _ in .ok() }, clock: clock, stack)
        let call = Task { await code(of: client.get(anywhere)) }
        try await until("the gate to be reached") { seen.withLock { $0 } }
        call.cancel()
        _ = await call.value
    }

    @Test("No more is kept than the terminal method reads or may collect")
    func collected() async throws {
        let chunks = (0..<100).map { _ in Data("x".utf8) }
        let cut = MockResponse.stream(chunks, thenThrow: ClientError(.incomplete, "x"))
        let (client, transport) = client([cut], [.retry(backoff: now)])
        _ = try? await client.get(anywhere).serialize(with: Reading(bytes: 50))
        #expect(transport.sentCount == 1)
        for stack: Stack in [
            [.limits(.init(body: 50)), .retry(backoff: now)],
            [.retry(backoff: now), .limits(.init(body: 50))],
        ] {
            let (limited, sent) = self.client([cut], stack)
            #expect(await code(of: limited.get(anywhere)) == .tooLarge)
            #expect(sent.sentCount == 1)
        }
    }

    @Test(
        "A deadline and a cancellation end the keeping of content",
        arguments: ["deadline", "task", "all"])
    func ended(how: String) async throws {
        let slow = MockResponse.stream([Data("a".utf8), Data("b".utf8)], every: .seconds(60))
        let (client, transport) = client(
            [slow], [.deadline(.seconds(5)), .retry(backoff: now)])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimer(in: .seconds(60))
        switch how {
        case "deadline": clock.advance(by: .seconds(5))
        case "task": call.cancel()
        default: client.cancelAll()
        }
        let error = await #expect(throws: (any Error).self) { try await call.value }
        #expect((error as? ClientError)?.code == (how == "deadline" ? .deadlineExceeded : nil))
        #expect(error is CancellationError == (how != "deadline"))
        #expect(transport.sentCount == 1)
        #expect(clock.timerCount == 0)
    }

    @Test("A body that only its reader can wake ends with the call")
    func foreignBody() async throws {
        let stack: Stack = [
            .deadline(.seconds(5)), .retry(backoff: now),
            Around { request, _, next in
                var response = try await next(request)
                response.body = ResponseBody(AsyncStream<Data> { _ in })
                return response
            },
        ]
        let (client, _) = client([.ok()], stack)
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimer(in: .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(await call.value == .deadlineExceeded)
    }

    @Test(
        "Stalled content is requested again, whether the limit is inside or outside",
        arguments: ["outside", "outside of a replay", "inside"])
    func idle(place: String) async throws {
        let still = MockResponse.stream([Data("a".utf8)], every: .seconds(60))
        let replay = Around { request, _, next in try await next.attempt(request) }
        let stack: Stack =
            switch place {
            case "outside": [.idleTimeout(.seconds(5)), .retry(backoff: now)]
            case "inside": [.retry(backoff: now), .idleTimeout(.seconds(5))]
            default: [.idleTimeout(.seconds(5)), replay, .retry(backoff: now)]
            }
        let (client, transport) = client([still, whole], stack)
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimer(in: .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(try await call.value == "abc")
        #expect(transport.sentCount == 2)
        #expect(clock.timerCount == 0)
    }

    @Test("An outer limit up to the head does not limit the body")
    func headLimit() async throws {
        let slow = MockResponse.stream([Data("a".utf8)], every: .seconds(60))
        let (client, _) = client([slow], [.attemptTimeout(.seconds(5)), .retry(backoff: now)])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimer(in: .seconds(60))
        clock.advance(by: .seconds(60))
        try await clock.waitForTimer(in: .seconds(60))
        clock.advance(by: .seconds(60))
        #expect(try await call.value == "a")
        // Inside, it ends with the head too.
        let (usual, _) = self.client([slow], [.retry(backoff: now), .attemptTimeout(.seconds(5))])
        let second = Task { try await usual.get(anywhere).serialize(with: Text()) }
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(60))
            clock.advance(by: .seconds(60))
        }
        #expect(try await second.value == "a")
    }

    @Test("A spent budget retries nothing, and the cause is kept")
    func budget() async throws {
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0)
        let (client, transport) = client([broken], [.retry(backoff: now, budget: budget)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).serialize(with: Text())
        }
        #expect(error?.code == .retryBudget)
        #expect((error?.underlying as? ClientError)?.code == .incomplete)
        #expect(transport.sentCount == 1)
    }
}
