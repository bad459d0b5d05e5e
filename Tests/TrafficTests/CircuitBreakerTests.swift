// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("CircuitBreaker")
struct CircuitBreakerTests {
    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    /// What the server says.
    private final class Answers: Sendable {
        private let value = Mutex(MockResponse.ok())
        func set(_ answer: MockResponse) { value.withLock { $0 = answer } }
        func next() -> MockResponse { value.withLock { $0 } }
    }

    private func breaking(
        _ breaker: CircuitBreaker = CircuitBreaker(minimum: 4), first: MockResponse = .status(503)
    ) async -> (Client, Answers, MockTransport) {
        let answers = Answers()
        answers.set(first)
        let transport = MockTransport { _ in answers.next() }
        let client = Client(transport, clock: clock, [breaker])
        for _ in 0..<4 { _ = try? await client.get(anywhere).response() }
        return (client, answers, transport)
    }

    @Test("The breaker opens at the ratio, after the minimum of calls, and then sends nothing")
    func opens() async throws {
        let breaker = CircuitBreaker(failureRatio: 0.5, minimum: 4)
        let statuses: [HTTPStatus] = [200, 503, 200, 503]
        let transport = MockTransport([
            .any(.status(200), .status(503), .status(200), .status(503), .status(200))
        ])
        let client = Client(transport, clock: clock, [breaker])
        for expected in statuses {
            #expect(breaker.state(of: origin) == .closed)
            #expect(try await client.get(anywhere).response().status == expected)
        }
        #expect(breaker.state(of: origin) == .open)
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .circuitOpen)
        #expect(error?.retryAfter == .seconds(15))
        #expect(error?.message.contains("http://a.example") == true)
        #expect(transport.sentCount == 4)
        #expect(try await client.get("http://b.example/").response().status == 200)
    }

    @Test("A half-open breaker lets only the probes through; their success closes it")
    func probes() async throws {
        let breaker = CircuitBreaker(minimum: 4, probes: 2)
        let (client, answers, transport) = await breaking(breaker)
        clock.advance(by: .seconds(15))
        answers.set(.ok(text: "well"))
        // Held bodies are calls that have not ended.
        let first = try await client.get(anywhere).response()
        #expect(breaker.state(of: origin) == .halfOpen)
        let second = try await client.get(anywhere).response()
        #expect(await code(of: client.get(anywhere)) == .circuitOpen)
        #expect(transport.sentCount == 6)
        _ = try await first.body.collect(upTo: 10)
        #expect(breaker.state(of: origin) == .halfOpen)
        _ = try await second.body.collect(upTo: 10)
        #expect(breaker.state(of: origin) == .closed)
        #expect(await code(of: client.get(anywhere)) == nil)
    }

    @Test("Each failed probe doubles the open time, up to the maximum")
    func growing() async throws {
        let breaker = CircuitBreaker(minimum: 4, open: .seconds(10), maxOpen: .seconds(35))
        let (client, answers, _) = await breaking(breaker)
        for seconds in [10, 20, 35, 35] {
            clock.advance(by: .seconds(seconds) - .nanoseconds(1))
            #expect(await code(of: client.get(anywhere)) == .circuitOpen)
            clock.advance(by: .nanoseconds(1))
            #expect(await code(of: client.get(anywhere)) == nil, "a probe, answered with 503")
            #expect(breaker.state(of: origin) == .open)
        }
        clock.advance(by: .seconds(35))
        answers.set(.ok())
        for _ in 0..<3 { _ = try await client.get(anywhere).response() }
        #expect(breaker.state(of: origin) == .closed)
    }

    @Test("Probes that never end make room for others after a while")
    func lostProbes() async throws {
        let breaker = CircuitBreaker(minimum: 4, probes: 1)
        let (client, answers, _) = await breaking(breaker)
        clock.advance(by: .seconds(15))
        answers.set(.ok(text: "held"))
        let held = try await client.get(anywhere).response()
        #expect(await code(of: client.get(anywhere)) == .circuitOpen)
        clock.advance(by: .seconds(15))
        #expect(await code(of: client.get(anywhere)) == nil)
        #expect(breaker.state(of: origin) == .closed)
        _ = held
    }

    @Test("A cancelled call is not a failure, and a cancelled probe returns its place")
    func cancellation() async throws {
        let breaker = CircuitBreaker(minimum: 1, probes: 1)
        let (client, answers, transport) = await breaking(breaker, first: .ok())
        answers.set(.ok().delayed(by: .seconds(60)))
        for _ in 0..<5 {
            let call = Task { try await client.get(anywhere).response() }
            try await clock.waitForTimers(1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(breaker.state(of: origin) == .closed)
        answers.set(.status(500))
        for _ in 0..<9 { _ = try? await client.get(anywhere).response() }
        #expect(breaker.state(of: origin) == .open)
        clock.advance(by: .seconds(15))
        answers.set(.ok().delayed(by: .seconds(60)))
        let probe = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        let before = transport.sentCount
        #expect(await code(of: client.get(anywhere)) == .circuitOpen)
        probe.cancel()
        _ = try? await probe.value
        answers.set(.ok())
        #expect(await code(of: client.get(anywhere)) == nil)
        #expect(transport.sentCount == before + 1)
        #expect(breaker.state(of: origin) == .closed)
    }

    @Test("The caller's deadline is not a failure of the server; an attempt timeout is")
    func deadlines() async throws {
        for (gate, expected) in [
            (Deadline(.seconds(1)) as any Gate, CircuitState.closed),
            (
                Around {
                    try await AttemptTimeout(.seconds(1)).intercept($0, context: $1, next: $2)
                }, .open
            ),
        ] {
            let breaker = CircuitBreaker(minimum: 1)
            let transport = MockTransport { _ in .ok().delayed(by: .seconds(60)) }
            let stack: Stack = gate is Deadline ? [gate, breaker] : [breaker, gate]
            let client = Client(transport, clock: clock, stack)
            let call = Task { await code(of: client.get(anywhere)) }
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(1))
            #expect(await call.value != nil)
            await client.shutdown()
            #expect(breaker.state(of: origin) == expected)
        }
    }

    @Test("A body that breaks off is a failure; a dropped one is not")
    func bodies() async throws {
        let breaker = CircuitBreaker(minimum: 1)
        let cut = MockResponse.stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "cut"))
        let client = Client(
            MockTransport([.any(.ok(text: "x"), cut, cut, cut)]), clock: clock, [breaker])
        do { _ = try await client.get(anywhere).response() }
        do { _ = try await client.get(anywhere).response() }
        #expect(breaker.state(of: origin) == .closed)
        _ = await code(of: client.get(anywhere))
        #expect(breaker.state(of: origin) == .closed, "one of three")
        _ = await code(of: client.get(anywhere))
        #expect(breaker.state(of: origin) == .open, "two of four")
    }

    @Test("The breaker counts calls outside a retry, and attempts inside")
    func position() async throws {
        for (isInside, counted) in [(true, 3), (false, 1)] {
            let seen = Mutex(0)
            let breaker = CircuitBreaker(minimum: 1000) { outcome in
                seen.withLock { $0 += 1 }
                return CircuitVerdict.standard(outcome)
            }
            let retry = Retry(backoff: Backoff(base: .zero))
            let stack: Stack = isInside ? [retry, breaker] : [breaker, retry]
            let client = Client(MockTransport { _ in .status(503) }, clock: clock, stack)
            _ = try await client.get(anywhere).response()
            #expect(seen.withLock { $0 } == counted)
        }
    }

    @Test("Old failures are forgotten, and a quiet client does not open on few calls")
    func window() async throws {
        let breaker = CircuitBreaker(minimum: 4, window: .seconds(30))
        let client = Client(MockTransport { _ in .status(500) }, clock: clock, [breaker])
        for _ in 0..<20 {
            _ = try await client.get(anywhere).response()
            clock.advance(by: .seconds(11))
        }
        #expect(breaker.state(of: origin) == .closed)
    }

    @Test("Circuits of more than a thousand origins are forgotten if there is no room")
    func bounded() async throws {
        let breaker = CircuitBreaker(minimum: 1)
        let client = Client(MockTransport { _ in .status(500) }, clock: clock, [breaker])
        _ = try await client.get(anywhere).response()
        #expect(breaker.state(of: origin) == .open)
        for number in 0..<1024 {
            _ = try await client.get("http://h\(number).example/").response()
        }
        #expect(breaker.state(of: origin) == .closed)
    }
}
