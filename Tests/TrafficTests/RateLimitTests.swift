// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("RateLimit")
struct RateLimitTests {
    private let clock = ManualClock()
    private let transport = MockTransport { _ in .ok() }

    private func client(_ gates: any Gate...) -> Client {
        Client(transport, clock: clock, Stack(gates))
    }

    @Test("A burst passes at once, later calls one by one")
    func pace() async throws {
        let client = client(RateLimit(perSecond: 5, burst: 2))
        for _ in 0..<2 { _ = try await client.get(anywhere).response() }
        #expect(clock.timerCount == 0)
        let third = Task { try await client.get(anywhere).response().status }
        try await clock.waitForTimers(1)
        clock.advance(by: .milliseconds(200) - .nanoseconds(1))
        #expect(transport.sentCount == 2)
        clock.advance(by: .nanoseconds(1))
        #expect(try await third.value == 200)
        #expect(clock.timerCount == 0)
    }

    @Test("The queue is first come, first served, and a call that leaves returns its place")
    func order() async throws {
        let limit = RateLimit(perSecond: 1, queue: 3)
        let client = client(limit)
        _ = try await client.get(anywhere).response()
        var calls: [Task<HTTPStatus, any Error>] = []
        for number in 1...3 {
            let call = Task { try await client.get("http://a.example/\(number)").response().status }
            calls.append(call)
            try await until("\(number) waiting callers") { limit.waiting >= number }
        }
        #expect(await code(of: client.get(anywhere)) == .rateLimited)
        calls[0].cancel()
        await #expect(throws: CancellationError.self) { try await calls[0].value }
        #expect(limit.waiting == 2)
        clock.advance(by: .seconds(1))
        #expect(try await calls[1].value == 200)
        clock.advance(by: .seconds(1))
        #expect(try await calls[2].value == 200)
        #expect(transport.sent.map { $0.request.url.path } == ["/x", "/2", "/3"])
        #expect(clock.timerCount == 0)
    }

    @Test(
        "A call that is cancelled before its request is sent gives its permit back",
        arguments: [false, true])
    func unsent(isCancelled: Bool) async throws {
        let first = Countdown(1)
        let stop = Around { request, _, next in
            if first.takeOne() {
                if !isCancelled { throw ClientError(.circuitOpen, "stop") }
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
            return try await next(request)
        }
        let client = client(RateLimit(perSecond: 1, queue: 0), stop)
        let ended = await Task { await code(of: client.get(anywhere)) }.value
        #expect(ended == (isCancelled ? nil : .circuitOpen))
        // Otherwise a circuit that is open would let more and more calls pass.
        #expect(await code(of: client.get(anywhere)) == (isCancelled ? nil : .rateLimited))
        #expect(transport.sentCount == (isCancelled ? 1 : 0))
    }

    @Test("A call that cannot start in time fails at once with the time when it could")
    func late() async throws {
        let client = client(Deadline(.seconds(3)), RateLimit(perSecond: 0.25))
        _ = try await client.get(anywhere).response()
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.retryAfter == .seconds(4))
        #expect(clock.now == MonotonicInstant(nanoseconds: 0))
        #expect(transport.sentCount == 1)
    }

    @Test("Without a queue a call beyond the rate fails at once")
    func full() async throws {
        let client = client(RateLimit(perSecond: 2, queue: 0))
        _ = try await client.get(anywhere).response()
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .rateLimited)
        #expect(error?.retryAfter == .milliseconds(500))
    }

    @Test("Each origin has a bucket of its own, unless all share one", arguments: [true, false])
    func scope(perOrigin: Bool) async throws {
        let client = client(
            RateLimit(perSecond: 1, queue: 0, scope: perOrigin ? .origin : .all))
        _ = try await client.get(anywhere).response()
        let second = await code(of: client.get("http://b.example/"))
        #expect(second == (perOrigin ? nil : .rateLimited))
    }

    @Test("Inside a retry each attempt takes a token")
    func attempts() async throws {
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = Client(
            transport, clock: clock,
            [.retry(backoff: Backoff(base: .zero)), .rateLimit(perSecond: 1)])
        let call = Task { try await client.get(anywhere).response().status }
        try await clock.waitForTimers(1)
        #expect(transport.sentCount == 1)
        clock.advance(by: .seconds(1))
        #expect(try await call.value == 200)
    }

    /// Makes calls one after another, each of which waits for its token.
    private func waits(_ count: Int, _ client: Client, _ target: Target = anywhere) async throws {
        for _ in 0..<count {
            let call = Task { try await client.get(target).response().status }
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
            #expect(try await call.value == 200)
        }
    }

    @Test("The log has a line when calls begin to wait, at most one in ten seconds for a bucket")
    func news() async throws {
        let sink = MemoryLogSink()
        func news() -> [String] { sink.lines.filter { $0.contains("wait in line") } }
        let client = client(.log(to: sink), RateLimit(perSecond: 5))
        for target: Target in ["http://a.example/", "http://b.example/"] {
            _ = try await client.get(target).response()
        }
        // Each call forms a line of its own. The first one waits from 0 s, the last from 9.8 s.
        try await waits(50, client)
        #expect(news().count == 1)
        #expect(
            news().first?.contains(
                "calls to http://a.example wait in line: the rate limit lets one start every"
                    + " 200 ms") == true, "\(news())")
        try await waits(1, client)
        #expect(news().count == 2)
        _ = try await client.get("http://b.example/").response()
        try await waits(1, client, "http://b.example/")
        #expect(news().count == 3, "each bucket has a line of its own")
    }

    @Test("If all origins share a bucket, the log says once that calls wait")
    func newsOfAll() async throws {
        let sink = MemoryLogSink()
        let client = client(.log(to: sink), RateLimit(perSecond: 1, scope: .all))
        _ = try await client.get(anywhere).response()
        for number in 0..<5 { try await waits(1, client, Target("http://h\(number).example/")) }
        let news = sink.lines.filter { $0.contains("wait in line") }
        #expect(news.count == 1)
        #expect(news.first?.contains("calls wait in line: the rate limit") == true, "\(news)")
    }

    @Test("Extreme rates do no harm", arguments: [1e-300, 1e300, .infinity, 0, -1])
    func extremes(rate: Double) async throws {
        let client = client(RateLimit(perSecond: rate, burst: .max, queue: 1))
        for _ in 0..<10 { _ = try await client.get(anywhere).response() }
        #expect(transport.sentCount == 10)
    }
}

extension RateLimit {
    /// How many calls wait.
    var waiting: Int { limiter.waitingCount }
}
