// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

/// What gates and callers see of a call that is tried again as a whole.
@Suite("Retry of a call for a whole value, as others see it")
struct RetryOfWholeCallSeenTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)
    private let wait = Backoff(base: .seconds(10), jitter: .none)

    private func broken(after time: Duration = .zero) -> MockResponse {
        .stream([Data("ab".utf8)], every: time, thenThrow: ClientError(.incomplete, "x"))
    }

    private func whole(every time: Duration = .zero) -> MockResponse {
        .stream([Data("a".utf8), Data("bc".utf8)], every: time)
    }

    private func client(_ answers: [MockResponse], _ stack: Stack) -> (Client, MockTransport) {
        let transport = MockTransport([MockStub(answers) { _ in true }])
        return (Client(transport, clock: clock, stack), transport)
    }

    private final class Told: MetricsRecorder, RequestLogger {
        let measurements = Mutex<[CallMeasurement]>([])
        let events = Mutex<[(String, Duration)]>([])

        func record(_ measurement: CallMeasurement) {
            measurements.withLock { $0.append(measurement) }
        }

        func log(_ event: CallEvent) {
            let name: String =
                switch event.kind {
                case .bodyEnded(let end): "ended \(end.isFinished) \(end.bytes)"
                case .failed: "failed \(event.errorType ?? "") \(event.status?.code ?? 0)"
                case .retrying: "retrying because of \(event.errorType ?? "")"
                case .responded: "responded"
                default: ""
                }
            if !name.isEmpty { events.withLock { $0.append((name, event.elapsed)) } }
        }
    }

    private func advance(_ call: Task<String, any Error>, _ times: Duration...) async throws {
        for time in times {
            try await clock.waitForTimer(in: time)
            clock.advance(by: time)
        }
        _ = try await call.value
    }

    @Test("The time of the head is measured for the call and for each attempt")
    func headTime() async throws {
        let (call, attempt) = (Told(), Told())
        let (client, _) = client(
            [
                broken(after: .seconds(3)).delayed(by: .seconds(1)),
                whole(every: .seconds(2)).delayed(by: .seconds(1)),
            ], [call, .retry(backoff: wait), attempt])
        try await advance(
            Task { try await client.get(anywhere).serialize(with: Text()) },
            .seconds(1), .seconds(3), .seconds(3), .seconds(10), .seconds(1), .seconds(2),
            .seconds(2), .seconds(2))
        let attempts = attempt.measurements.withLock { $0 }
        #expect(attempts.map(\.headDuration) == [.seconds(1), .seconds(1)])
        #expect(attempts.map(\.duration) == [.seconds(7), .seconds(7)])
        #expect(attempts.map(\.errorType) == ["incomplete", nil])
        #expect(attempts.map(\.responseBodyBytes) == [2, 3])
        let calls = call.measurements.withLock { $0 }
        #expect(calls.map(\.headDuration) == [.seconds(18)])
        #expect(calls.map(\.duration) == [.seconds(24)])
        #expect(calls.map(\.resends) == [1])
        #expect(calls.map(\.responseBodyBytes) == [3])
        #expect(calls.map(\.timeline.latency) == [.seconds(18)])
        #expect(calls.map(\.timeline.requestDuration) == [.seconds(24)])
        let events = attempt.events.withLock { $0 }
        #expect(
            events.map(\.0) == ["responded", "ended false 2", "responded", "ended true 3"])
        #expect(events.map(\.1) == [.seconds(1), .seconds(7), .seconds(1), .seconds(7)])
        let callEvents = call.events.withLock { $0 }
        #expect(
            callEvents.map(\.0) == [
                "retrying because of incomplete", "responded", "ended true 3",
            ])
    }

    @Test("A failure is reported with its head, and counts in the attempt's time")
    func summaries() async throws {
        let told = Told()
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0)
        let (client, _) = client(
            [broken(after: .seconds(3))], [told, .retry(backoff: now, budget: budget)])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
        }
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect((error?.underlying as? ClientError)?.response?.status == 200)
        let (again, _) = self.client(
            [broken(after: .seconds(3)), .status(503)],
            [.retry(attempts: 2, backoff: now), .validate()])
        let second = Task { try await again.get(anywhere).serialize(with: Text()) }
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
        }
        let last = await #expect(throws: ClientError.self) { try await second.value }
        #expect(last?.history.map(\.elapsed) == [.seconds(6), .zero])
        #expect(last?.history.map(\.errorType) == ["incomplete", "validation"])
    }

    @Test("Progress begins again with each attempt")
    func progress() async throws {
        let (client, _) = client([broken(), whole()], [.retry(backoff: now)])
        let told = Mutex<[Int64]>([])
        let gate = Around { request, context, next in
            context.call.record.onProgress { progress in
                told.withLock { $0.append(progress.bytesReceived) }
            }
            return try await next(request)
        }
        _ = try await Client(
            client.transport, clock: clock, [gate, .retry(backoff: now)]
        ).get(anywhere).serialize(with: Text())
        #expect(told.withLock { $0 } == [2, 0, 1, 3])
    }

    @Test("An inner permit is returned before the delay, and when the content is complete")
    func permits() async throws {
        let limit = ConcurrencyLimit(total: 1)
        let held = Mutex<[Int]>([])
        let (client, _) = client(
            [broken(), whole()],
            [
                Around { request, _, next in
                    let response = try await next(request)
                    held.withLock { $0.append(limit.underWay) }
                    return response
                },
                .retry(backoff: wait), limit,
            ])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimer(in: .seconds(10))
        #expect(limit.underWay == 0)
        clock.advance(by: .seconds(10))
        #expect(try await call.value == "abc")
        #expect(held.withLock { $0 } == [0])
    }

    @Test("The permit of larger content is held until its end")
    func largePermit() async throws {
        let limit = ConcurrencyLimit(total: 1)
        let held = Mutex<[Int]>([])
        let (client, _) = client(
            [whole()],
            [
                Around { request, _, next in
                    let response = try await next(request)
                    held.withLock { $0.append(limit.underWay) }
                    return response
                },
                .retry(backoff: wait, maxKeptBytes: 1), limit,
            ])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "abc")
        #expect(held.withLock { $0 } == [1])
        #expect(limit.underWay == 0)
    }

    @Test("An inner breaker counts each attempt, an outer one the call")
    func breaker() async throws {
        for isInside in [true, false] {
            let breaker = CircuitBreaker(minimum: 1)
            let stack: Stack =
                isInside
                ? [.retry(backoff: now, budget: nil), breaker]
                : [breaker, .retry(backoff: now, budget: nil)]
            let (client, transport) = client([broken(), whole()], stack)
            let result = await code(of: client.get(anywhere))
            #expect(result == (isInside ? .circuitOpen : nil))
            #expect(transport.sentCount == (isInside ? 1 : 2))
        }
    }

    @Test("Calls that share an exchange get one complete response")
    func coalesced() async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(
            [broken().delayed(by: .seconds(1)), whole()], [coalesce, .retry(backoff: now)])
        let calls = (0..<3).map { _ in
            Task { try await client.get(anywhere).serialize(with: Text()) }
        }
        try await until("3 waiting callers") { coalesce.waiting >= 3 }
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        for call in calls { #expect(try await call.value == "abc") }
        #expect(transport.sentCount == 2)
    }

    @Test("An outer fallback replaces content that does not arrive")
    func fallback() async throws {
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0)
        let (client, _) = client(
            [broken()],
            [
                .fallback(status: 200, body: Data("else".utf8)),
                .retry(backoff: now, budget: budget),
            ])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "else")
    }

    @Test("The winner of an inner hedge is kept, and retried if it breaks off")
    func hedgeInside() async throws {
        let (client, transport) = client(
            [
                .ok(text: "late").delayed(by: .seconds(60)),
                broken().delayed(by: .seconds(1)), whole(),
            ],
            [.retry(backoff: now), .hedge(after: .seconds(2))])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await call.value == "abc")
        #expect(transport.sentCount == 3)
    }

    @Test("The losing attempt of a hedge does not affect the winner's body")
    func hedgeTimeline() async throws {
        let hasLost = Mutex(false)
        let look = Around { request, _, next in
            let response = try await next(request)
            if response.status == 503 { hasLost.withLock { $0 = true } }
            return response
        }
        let (client, _) = client(
            [
                .status(503, body: Data("x".utf8)).delayed(by: .seconds(3)),
                whole().delayed(by: .seconds(2)),
            ], [.hedge(after: .seconds(2)), look])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(1))
        try await until("the response that loses") { hasLost.withLock { $0 } }
        clock.advance(by: .seconds(1))
        let response = try await call.value
        #expect(response.status == 200)
        #expect(response.timeline.bodyEnd == nil)
        _ = try await response.body.collect(upTo: 10)
        #expect(response.timeline.bodyEnd != nil)
    }

    @Test("Trailers and sizes come with the content")
    func parts() async throws {
        let seen = Mutex<[Response]>([])
        let look = Around { request, _, next in
            let response = try await next(request)
            seen.withLock { $0.append(response) }
            return response
        }
        let (client, _) = client(
            [broken(), whole().followed(by: ["X-Sum": "1"])], [look, .retry(backoff: now)])
        _ = try await client.get(anywhere).serialize(with: Text())
        let response = try #require(seen.withLock { $0.first })
        #expect(response.body.length == 3)
        #expect(response.trailers["X-Sum"] == "1")
        let (empty, _) = self.client(
            [.stream([]).followed(by: ["X-Sum": "2"])], [look, .retry(backoff: now)])
        #expect(try await empty.get(anywhere).serialize(with: Text()) == "")
        #expect(seen.withLock { $0.last }?.trailers["X-Sum"] == "2")
    }

    @Test("An outer retry continues after an inner one has stopped")
    func nested() async throws {
        let (client, transport) = client(
            [broken(), broken(), whole()],
            [.retry(attempts: 2, backoff: now), .retry(attempts: 2, backoff: now)])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "abc")
        #expect(transport.sentCount == 3)
    }

    @Test("A custom retrier keeps as much as it asks for")
    func ownRetrier() async throws {
        struct Own: RequestRetrier {
            let bytes: Int
            func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
                outcome.code == .incomplete && outcome.attempts < 3 ? .retry(after: .zero) : .stop
            }
            func keptBytes(_ outcome: Outcome, context: Context) -> Int { bytes }
        }
        for (bytes, expected) in [(0, 1), (100, 2)] {
            let (client, transport) = client([broken(), whole()], [Own(bytes: bytes)])
            _ = await code(of: client.get(anywhere))
            #expect(transport.sentCount == expected)
        }
    }
}
