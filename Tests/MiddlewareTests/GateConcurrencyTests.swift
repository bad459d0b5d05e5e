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

/// A thousand calls at once through each gate that remembers something.
@Suite("Gates, many calls at once")
struct GateConcurrencyTests {
    /// Answers after a few turns of the scheduler, and counts what is under way at once.
    private final class Crowd: Transport {
        private let underWay = Mutex((now: 0, most: 0, sent: 0, bodies: 0))
        private let statusOf: @Sendable (Int) -> HTTPStatus
        let capabilities = TransportCapabilities(rawValue: .max)

        init(_ status: @escaping @Sendable (Int) -> HTTPStatus = { _ in .ok }) { statusOf = status }

        var most: Int { underWay.withLock { $0.most } }
        var sent: Int { underWay.withLock { $0.sent } }
        var openBodies: Int { underWay.withLock { $0.bodies } }

        func send(_ request: Request, context: Context) async throws -> Response {
            let number = underWay.withLock { underWay in
                underWay.sent += 1
                underWay.now += 1
                underWay.most = max(underWay.most, underWay.now)
                return underWay.sent
            }
            defer { underWay.withLock { $0.now -= 1 } }
            for _ in 0..<(number % 7) { await Task.yield() }
            try context.checkCancellation()
            let body = ResponseBody(Data("x".utf8))
            underWay.withLock { $0.bodies += 1 }
            body.onEnd { [self] _ in underWay.withLock { $0.bodies -= 1 } }
            return Response(to: request, status: statusOf(number), body: body)
        }

        func shutdown() async {}
    }

    /// Makes a thousand calls at once, cancels some, and reads most of the answers.
    private func storm(
        _ transport: Crowd, _ stack: Stack, cancelling: Bool = true, urls: Int = 1
    ) async -> [ClientError.Code?: Int] {
        let client = Client(transport, clock: SystemTimeSource(), stack)
        let calls = (0..<1000).map { number in
            Task {
                let call = client.get("http://a.example/\(number % urls)")
                if number % 5 == 1 { return try await call.response().status.code }
                return try await call.serialize(with: Text()).count
            }
        }
        var codes: [ClientError.Code?: Int] = [:]
        for (number, call) in calls.enumerated() where cancelling && number % 10 == 3 {
            call.cancel()
        }
        for call in calls {
            switch await call.result {
            case .success: codes[nil, default: 0] += 1
            case .failure(let error):
                codes[(error as? ClientError)?.code ?? .cancelled, default: 0] += 1
            }
        }
        await client.shutdown(grace: .seconds(5))
        return codes
    }

    @Test("A concurrency limit is never exceeded, and no call is left in the queue")
    func concurrencyLimit() async {
        for adaptive in [nil, AdaptiveLimit(pause: .zero)] {
            let transport = Crowd { $0 % 11 == 0 ? 503 : 200 }
            let limit = ConcurrencyLimit(total: 8, queue: 1000, adaptive: adaptive)
            let codes = await storm(transport, [limit])
            #expect(transport.most <= 8)
            #expect((codes[nil] ?? 0) >= 900)
            #expect(limit.underWay == 0 && limit.waiting == 0 && transport.openBodies == 0)
        }
    }

    @Test("A rate limit lets all through in time")
    func rateLimit() async {
        let transport = Crowd()
        let limit = RateLimit(perSecond: 20_000, burst: 10)
        let codes = await storm(transport, [limit])
        #expect((codes[nil] ?? 0) >= 900)
        #expect(limit.limiter.waitingCount == 0 && transport.openBodies == 0)
    }

    @Test("A breaker that opens under load refuses what it does not send")
    func circuitBreaker() async {
        let transport = Crowd { $0 > 100 ? 500 : 200 }
        let breaker = CircuitBreaker(minimum: 50, open: .seconds(600))
        let codes = await storm(transport, [breaker], cancelling: false)
        #expect(breaker.state(of: Origin(scheme: "http", host: "a.example", port: 80)) == .open)
        let (answered, refused) = (codes[nil] ?? 0, codes[.circuitOpen] ?? 0)
        #expect(answered == transport.sent)
        #expect(answered + refused == 1000)
        #expect(transport.openBodies == 0)
    }

    @Test("A breaker never sends more probes than allowed under concurrent calls")
    func probes() async {
        let transport = Crowd { _ in 500 }
        let breaker = CircuitBreaker(minimum: 1, open: .nanoseconds(1), maxOpen: .nanoseconds(1))
        let codes = await storm(transport, [breaker])
        #expect((codes[nil] ?? 0) >= 1)
        #expect(transport.openBodies == 0)
    }

    @Test("Each hedged call gets one response, and all others are closed")
    func hedge() async {
        let transport = Crowd { $0 % 13 == 0 ? 503 : 200 }
        for delay in [HedgeDelay.fixed(.zero), .percentile(0.5, atLeast: .zero)] {
            let codes = await storm(transport, [.hedge(after: delay, attempts: 3, budget: nil)])
            #expect((codes[nil] ?? 0) >= 900)
            #expect(transport.openBodies == 0)
        }
    }

    @Test("Coalesced calls all get a response, with far fewer sends")
    func coalesce() async {
        let transport = Crowd()
        let coalesce = Coalesce()
        let codes = await storm(transport, [coalesce], urls: 3)
        #expect((codes[nil] ?? 0) >= 900)
        #expect(transport.sent < 1000)
        #expect(coalesce.waiting == 0 && transport.openBodies == 0)
    }

    @Test("All gates together lose nothing")
    func together() async {
        let transport = Crowd { $0 % 9 == 0 ? 503 : 200 }
        let limit = ConcurrencyLimit(total: 16, queue: 2000)
        let stack: Stack = [
            .deadline(), .fallback(status: .ok), .coalesce(), .rateLimit(perSecond: 1e6, burst: 50),
            .retry(backoff: Backoff(base: .zero)), .hedge(after: .milliseconds(1)),
            .circuitBreaker(failureRatio: 1), limit, .attemptTimeout(),
        ]
        let codes = await storm(transport, stack, urls: 50)
        #expect((codes[nil] ?? 0) >= 900)
        #expect(limit.underWay == 0 && limit.waiting == 0 && transport.openBodies == 0)
    }
}
