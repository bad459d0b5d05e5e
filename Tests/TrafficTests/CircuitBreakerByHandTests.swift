// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("CircuitBreaker by hand")
struct CircuitBreakerByHandTests {
    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    @Test("An isolated origin gets no call, not even a probe, until it is closed by hand")
    func isolation() async throws {
        let breaker = CircuitBreaker()
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, clock: clock, [breaker])
        breaker.isolate(origin, by: "Ann")
        clock.advance(by: .seconds(100_000))
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .circuitOpen)
        #expect(error?.retryAfter == nil)
        #expect(error?.message.contains("by hand (Ann)") == true)
        #expect(breaker.state(of: origin) == .open)
        #expect(breaker.remaining(of: origin, on: clock) == nil)
        #expect(transport.sentCount == 0)
        breaker.close(origin, by: "Bob")
        #expect(breaker.remaining(of: origin, on: clock) == .zero)
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("A breaker that failures have opened says how long, and closes by hand at once")
    func closing() async throws {
        let breaker = CircuitBreaker(minimum: 4)
        let transport = MockTransport { _ in .status(503) }
        let client = Client(transport, clock: clock, [breaker])
        for _ in 0..<4 { _ = try await client.get(anywhere).response() }
        clock.advance(by: .seconds(5))
        #expect(breaker.remaining(of: origin, on: clock) == .seconds(10))
        breaker.close(origin, by: "Bob")
        #expect(breaker.state(of: origin) == .closed)
        for _ in 0..<3 { _ = try await client.get(anywhere).response() }
        #expect(breaker.state(of: origin) == .closed, "it counts anew")
        _ = try await client.get(anywhere).response()
        #expect(breaker.state(of: origin) == .open)
        #expect(breaker.remaining(of: origin, on: clock) == .seconds(15), "not doubled")
    }

    @Test("A call that was under way does not close an isolated circuit")
    func underWay() async throws {
        let breaker = CircuitBreaker(minimum: 1, probes: 1)
        let transport = MockTransport([.any(.status(503), .ok(text: "held"))])
        let client = Client(transport, clock: clock, [breaker])
        _ = try await client.get(anywhere).response()
        clock.advance(by: .seconds(15))
        let probe = try await client.get(anywhere).response()
        breaker.isolate(origin, by: "Ann")
        _ = try await probe.body.collect(upTo: 10)
        #expect(breaker.state(of: origin) == .open)
        #expect(breaker.remaining(of: origin, on: clock) == nil)
    }

    @Test("Other origins do not push an isolated circuit out")
    func keeping() async throws {
        let breaker = CircuitBreaker()
        let client = Client(MockTransport { _ in .ok() }, clock: clock, [breaker])
        breaker.isolate(origin, by: "Ann")
        for index in 0..<1100 {
            _ = try await client.get("http://\(index).example/").response()
        }
        #expect(breaker.state(of: origin) == .open)
    }
}
