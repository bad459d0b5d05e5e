// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Retry")
struct RetryTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)

    private func sends(
        _ method: HTTPMethod, _ response: MockResponse, _ change: (Call) -> Call = { $0 }
    ) async -> Int {
        let transport = MockTransport { _ in response }
        let client = Client(transport, clock: clock, [.retry(backoff: now)])
        _ = try? await change(client.request(method, anywhere)).response()
        return transport.sentCount
    }

    @Test(
        "Transient statuses are retried, others are not",
        arguments: [
            (408, 3), (425, 3), (429, 3), (500, 3), (502, 3), (503, 3), (504, 3), (200, 1),
            (301, 1), (400, 1), (401, 1),
            (404, 1), (501, 1), (505, 1),
        ])
    func statuses(status: Int, expected: Int) async {
        #expect(await sends(.get, .status(HTTPStatus(status))) == expected)
    }

    @Test(
        "Idempotent methods are retried, others are not",
        arguments: [
            (HTTPMethod.get, 3), (.head, 3), (.put, 3), (.delete, 3), (.options, 3), (.trace, 3),
            (.query, 3), (.post, 1),
            (.patch, 1), ("get", 1),
        ])
    func methods(method: HTTPMethod, expected: Int) async {
        #expect(await sends(method, .status(503)) == expected)
        #expect(await sends(method, .connectionLost) == expected)
    }

    @Test("A request that was not sent, or not completely, is retried whatever its method")
    func unsent() async {
        #expect(await sends(.post, .connectionRefused) == 3)
        #expect(await sends(.post, .status(408)) == 2)
    }

    @Test("A method that may have an effect is repeated once after a 408, whatever comes between")
    func requestTimeouts() async {
        let answers = [
            MockResponse.connectionRefused, .status(408), .connectionRefused, .status(408),
        ]
        for (attempts, expected) in [(9, 4), (3, 3)] {
            let turn = Tally()
            let transport = MockTransport { _ in answers[min(turn.add(), 4) - 1] }
            let client = Client(
                transport, clock: clock, [.retry(attempts: attempts, backoff: now)])
            _ = try? await client.post(anywhere).response()
            #expect(transport.sentCount == expected)
        }
        // Of two retries, the outer one knows what the inner one has sent.
        let transport = MockTransport { _ in .status(408) }
        let twice = Client(transport, clock: clock, [.retry(backoff: now), .retry(backoff: now)])
        _ = try? await twice.post(anywhere).response()
        #expect(transport.sentCount == 2)
        #expect(await sends(.put, .status(408)) == 3)
        #expect(await sends(.post, .status(408)) { $0.retryable() } == 3)
    }

    @Test("A mark of the caller, or a key, makes a method retryable")
    func marked() async {
        #expect(await sends(.post, .status(503)) { $0.retryable() } == 3)
        #expect(await sends(.post, .status(503)) { $0.header(.idempotencyKey, "k") } == 3)
    }

    @Test(
        "Network errors are retried, others are not",
        arguments: [
            (ClientError.Code.connection, 3), (.dns, 2), (.attemptTimeout, 3), (.connectTimeout, 3),
            (.tls, 1), (.protocol, 1),
            (.invalidRequest, 1), (.tooLarge, 1), (.serialization, 1), (.cancelled, 1),
            (.deadlineExceeded, 1),
        ])
    func codes(code: ClientError.Code, expected: Int) async {
        #expect(await sends(.get, .failure(ClientError(code, "x"))) == expected)
    }

    @Test("A foreign error is not retried, unless a condition says so")
    func conditions() async {
        struct Foreign: Error {}
        #expect(await sends(.get, .failure(Foreign())) == 1)
        let transport = MockTransport { _ in .failure(Foreign()) }
        let policy = RetryPolicy.standard.deciding { $0.error is Foreign ? true : nil }
        let client = Client(
            transport, clock: clock, [.retry(attempts: 2, policy: policy, backoff: now)])
        _ = try? await client.get(anywhere).response()
        #expect(transport.sentCount == 2)
        let never = Client(
            transport, clock: clock, [.retry(policy: policy.deciding { _ in false }, backoff: now)])
        _ = try? await never.get(anywhere).response()
        #expect(transport.sentCount == 3)
    }

    @Test("A body that breaks off after its head is not retried")
    func brokenBody() async {
        #expect(
            await sends(.get, .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "x")))
                == 1)
    }

    @Test("The last outcome is returned unchanged, as a response or an error")
    func exhausted() async throws {
        let client = Client(
            MockTransport { _ in .status(503, body: Data("later".utf8)) }, clock: clock,
            [.retry(backoff: now)])
        let response = try await client.get(anywhere).response()
        #expect(response.status == 503)
        #expect(try await response.body.collect(upTo: 10) == Data("later".utf8))
        #expect(response.attempts == 3)
        #expect(
            await code(
                of: Client(
                    MockTransport { _ in .connectionLost }, clock: clock, [.retry(backoff: now)]
                ).get(anywhere)) == .connection)
    }

    @Test("Delays double from the base up to the maximum")
    func backoff() {
        let backoff = Backoff(
            base: .milliseconds(50), throttledBase: .seconds(1), max: .seconds(20), jitter: .none)
        func waits(_ throttled: Bool) -> [Duration] {
            (1...12).map { backoff.delay(afterAttempt: $0, isThrottled: throttled, unit: 0.5) }
        }
        #expect(
            waits(false).prefix(4) == [
                .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400),
            ])
        #expect(waits(false).last == .seconds(20))
        #expect(
            waits(true).prefix(6) == [
                .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(20),
            ])
        #expect(backoff.delay(afterAttempt: .max, isThrottled: false, unit: 0) == .seconds(20))
        for attempts in [1, 2, 40] {
            for isThrottled in [true, false] {
                let wait = Backoff.constant(.seconds(3)).delay(
                    afterAttempt: attempts, isThrottled: isThrottled, unit: 0.9)
                #expect(wait == .seconds(3))
            }
        }
        let jittered = Backoff(base: .seconds(1))
        #expect(
            jittered.delay(afterAttempt: 2, isThrottled: false, unit: 0.25) == .milliseconds(500))
        #expect(
            Backoff(base: .seconds(60)).delay(afterAttempt: 1, isThrottled: false, unit: 0.5)
                == .seconds(10))
    }

    @Test("The delay comes from the client's random numbers")
    func jitter() async throws {
        func wait(seed: UInt64) async throws -> Duration {
            let clock = ManualClock()
            let client = Client(
                MockTransport([.any(.status(500), .ok())]), clock: clock, seed: seed,
                [.retry(backoff: Backoff(base: .seconds(1)))])
            let call = Task { _ = try await client.get(anywhere).response() }
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
            try await call.value
            return MonotonicInstant(nanoseconds: 0).duration(to: clock.now)
        }
        let first = try await wait(seed: 1)
        #expect(try await wait(seed: 1) == first)
        #expect(try await wait(seed: 2) != first)
        #expect((.zero..<Duration.seconds(1)).contains(first))
    }

    @Test(
        "Retry-After is never undercut, in seconds or as a date",
        arguments: [
            (["2"], 2), ([" 3 "], 3), (["Tue, 14 Nov 2023 22:13:25 GMT"], 5),
            (["Tuesday, 14-Nov-23 22:13:25 GMT"], 5),
            (["Tue Nov 14 22:13:25 2023"], 5), (["1", "4"], 4), (["1, 7"], 7),
        ] as [([String], Int)])
    func retryAfter(values: [String], seconds: Int) async throws {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))
        let headers = HTTPHeaders(values.map { ("Retry-After", $0) })
        let transport = MockTransport([.any(.status(503, headers: headers), .ok())])
        let client = Client(transport, clock: clock, [.retry(backoff: now)])
        let call = Task { try await client.get(anywhere).response().status }
        try await clock.waitForTimers(1)
        clock.advanceToNextTimer()
        #expect(try await call.value == 200)
        #expect(MonotonicInstant(nanoseconds: 0).duration(to: clock.now) == .seconds(seconds))
    }

    @Test(
        "An unreadable or past Retry-After is ignored",
        arguments: [
            "soon", "-1", "1.5", "", "Tue, 14 Nov 2023 22:13:15 GMT", "0x10",
        ])
    func unreadableRetryAfter(value: String) async throws {
        let transport = MockTransport([.any(.status(503, headers: ["Retry-After": value]), .ok())])
        let client = Client(transport, clock: clock, [.retry(backoff: now)])
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test(
        "A Retry-After above the cap ends the retries",
        arguments: [
            "61", "99999999999999999999999999", "Wed, 15 Nov 2023 22:13:20 GMT",
        ])
    func longRetryAfter(value: String) async throws {
        let transport = MockTransport { _ in .status(503, headers: ["Retry-After": value]) }
        let client = Client(transport, clock: clock, [.retry(backoff: now)])
        #expect(try await client.get(anywhere).response().status == 503)
        let strict = Client(transport, clock: clock, [.retry(backoff: now), .validate()])
        let error = await #expect(throws: ClientError.self) {
            try await strict.get(anywhere).response()
        }
        #expect(error?.code == .validation)
        #expect((error?.retryAfter ?? .zero) > .seconds(60))
        #expect(transport.sentCount == 2)
    }

    @Test("A Retry-After beyond the deadline ends the call at once")
    func retryAfterBeyondDeadline() async throws {
        let transport = MockTransport { _ in .status(503, headers: ["Retry-After": "20"]) }
        let client = Client(
            transport, clock: clock, [.deadline(.seconds(10)), .retry(backoff: now)])
        #expect(await code(of: client.get(anywhere)) == .deadlineExceeded)
        #expect(clock.now == MonotonicInstant(nanoseconds: 0))
        #expect(transport.sentCount == 1)
    }
}

@Suite("RetryBudget")
struct RetryBudgetTests {
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)
    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds * 1e9))
    }

    @Test("Retries are limited to a share of the calls plus a minimum")
    func ratio() {
        let budget = RetryBudget(ratio: 0.2, window: .seconds(10), floorPerSecond: 0.1)
        for _ in 0..<50 { budget.deposit(for: origin, at: at(1)) }
        let granted = (0..<100).filter { _ in budget.withdraw(for: origin, at: at(1)) }.count
        #expect(granted == 11)
        #expect(!budget.withdraw(for: origin, at: at(10.9)))
        #expect(budget.withdraw(for: origin, at: at(11)), "the window has moved on")
    }

    @Test("A returned retry can be used again")
    func giveBack() {
        let budget = RetryBudget(ratio: 0, window: .seconds(10), floorPerSecond: 0.1)
        #expect(budget.withdraw(for: origin, at: at(1)))
        #expect(!budget.withdraw(for: origin, at: at(5)))
        budget.giveBack(for: origin, at: at(6))
        #expect(budget.withdraw(for: origin, at: at(7)))
    }

    @Test("Each origin has an account of its own, and their number is bounded")
    func origins() {
        let budget = RetryBudget(ratio: 0, window: .seconds(10), floorPerSecond: 0.1)
        let other = Origin(scheme: "http", host: "b.example", port: 80)
        #expect(budget.withdraw(for: origin, at: at(1)))
        #expect(budget.withdraw(for: other, at: at(1)))
        #expect(!budget.withdraw(for: origin, at: at(1)))
        for number in 0..<5000 {
            budget.deposit(for: Origin(scheme: "http", host: "h\(number)", port: 80), at: at(2))
        }
        #expect(budget.withdraw(for: origin, at: at(3)), "the oldest account was let go of")
    }

    @Test("A spent budget ends retries in every client that shares it, with the cause kept")
    func shared() async throws {
        let budget = RetryBudget(ratio: 0, window: .seconds(10), floorPerSecond: 0.3)
        let clock = ManualClock()
        let transport = MockTransport { _ in .connectionLost }
        let clients = (0..<2).map { _ in
            Client(transport, clock: clock, [.retry(backoff: Backoff(base: .zero), budget: budget)])
        }
        #expect(await code(of: clients[0].get(anywhere)) == .connection)
        let error = await #expect(throws: ClientError.self) {
            try await clients[1].get(anywhere).response()
        }
        #expect(error?.code == .retryBudget)
        #expect((error?.underlying as? ClientError)?.code == .connection)
        #expect(transport.sentCount == 5)
    }

    @Test("A retry that is never sent is returned to the budget")
    func abandoned() async throws {
        let budget = RetryBudget(ratio: 0, window: .seconds(10), floorPerSecond: 0.1)
        let clock = ManualClock()
        let client = Client(
            MockTransport { _ in .status(503) }, clock: clock,
            [.retry(backoff: Backoff(base: .seconds(5), jitter: .none), budget: budget)])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        call.cancel()
        _ = try? await call.value
        #expect(budget.withdraw(for: origin, at: clock.now))
    }
}
