// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

/// What it costs that many calls wait at once, for each other, for a token or for their time.
@Suite("The cost of calls that wait")
struct WaitingCosts {
    // MARK: What they wait in

    private static let queues: [Hostile] = [
        Hostile("seats in one exchange, which lands", size: 1_000, make: { $0 }) { count in
            let flights = Flights<Int, Int>()
            let seats = (0..<count).map { _ in flights.join(1, context: Context()) }
            if let first = seats.first { flights.land(first, .success(1)) }
            #expect(flights.seatCount == 0)
        },
        Hostile("seats in one exchange, which are left", size: 1_000, make: { $0 }) { count in
            let flights = Flights<Int, Int>()
            let seats = (0..<count).map { _ in flights.join(1, context: Context()) }
            for seat in seats { flights.leave(seat, CancellationError()) }
            #expect(flights.seatCount == 0)
        },
        Hostile("exchanges with a seat each", size: 1_000, make: { $0 }) { count in
            let flights = Flights<Int, Int>()
            let seats = (0..<count).map { flights.join($0, context: Context()) }
            for seat in seats { flights.land(seat, .success(1)) }
            #expect(flights.seatCount == 0)
        },
        Hostile("a value that many wait for", size: 1_000, make: { $0 }) { count, simulation in
            let value = SharedValue<Int>()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<count { group.addTask { _ = try? await value.value() } }
                await simulation.clock.pass(.seconds(1))
                value.settle(.success(1))
            }
        },
        Hostile("a value that many wait for, and leave", size: 1_000, make: { $0 }) { count, _ in
            let value = SharedValue<Int>()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<count { group.addTask { _ = try? await value.value() } }
                await Task.yield()
                group.cancelAll()
            }
        },
        Hostile("timers that are cancelled as they were made", size: 2_000, make: { $0 }) { count in
            let clock = ManualClock()
            let timers = (0..<count).map {
                clock.schedule(after: .milliseconds($0 * 7919 % count)) {}
            }
            for timer in timers { timer.cancel() }
            #expect(clock.timerCount == 0)
        },
        Hostile("timers that one waits for, and that come", size: 2_000, make: { $0 }) { count, _ in
            let clock = ManualClock()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await clock.waitForTimers(count) }
                await Task.yield()
                for number in 0..<count { _ = clock.schedule(after: .milliseconds(number)) {} }
            }
            clock.advance(by: .seconds(3600))
            #expect(clock.timerCount == 0)
        },
        Hostile("responses of many URLs that are recorded at once", size: 1_000, make: { $0 }) {
            count in
            let keys = (0..<count).map { CacheKey(url: "http://a.example/\($0)") }
            Self.record(keys)
        },
        Hostile("responses of one URL that are recorded at once", size: 1_000, make: { $0 }) {
            count in
            Self.record([CacheKey](repeating: CacheKey(url: "http://a.example/"), count: count))
        },
    ]

    private static func record(_ keys: [CacheKey]) {
        let recordings = Recordings()
        var marks = keys.map { recordings.begin([$0], at: .now) }
        for (mark, key) in zip(marks, keys) {
            #expect(mark.mayStore(key, Variant(fields: [])))
            #expect(mark.mayStore(key, Variant(fields: [])))
        }
        for key in keys { recordings.spoil(key) }
        marks = []
        #expect(recordings.keyCount == 0)
    }

    @Test("grows with how many wait, and not with the square", arguments: queues)
    func queue(row: Hostile) async throws { try await row.check() }

    // MARK: The calls themselves

    /// Many calls at once through gates, all of which are answered, or cancelled while they wait.
    private static func calls(
        _ name: String, to path: @escaping @Sendable (Int) -> String = { _ in "x" },
        cancelledAfter limit: Duration? = nil,
        through gates: @escaping @Sendable (Int) -> [any Gate],
        answer: @escaping @Sendable (Request, Duration) -> MockResponse
    ) -> Hostile {
        Hostile(
            name + (limit == nil ? "" : ", cancelled"), size: 250, make: { $0 }
        ) { count, simulation in
            let transport = MockTransport {
                answer($0, simulation.elapsed).delayed(by: .seconds(1))
            }
            let client = Client(
                transport: transport, stack: Stack(gates(count)), serializers: .standard,
                timeSource: simulation.clock, randomSource: simulation.random)
            let answered = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<count {
                    let call = client.get(Target("http://a.example/" + path(number)))
                    group.addTask { await Self.isAnswered(call) }
                }
                if let limit {
                    await simulation.clock.pass(limit)
                    client.cancelAll()
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(answered == (limit == nil ? count : 0))
        }
    }

    private static func isAnswered(_ call: Call) async -> Bool {
        guard let response = try? await call.response(), response.status == .ok else {
            return false
        }
        return (try? await response.body.collect(upTo: 9)) != nil
    }

    private static var waits: [Hostile] {
        [nil, Duration.milliseconds(500)].flatMap { limit in
            [
                calls("calls that share an exchange", cancelledAfter: limit) { _ in
                    [Coalesce()]
                } answer: { _, _ in
                    .ok(text: "x")
                },
                calls("calls that wait for a first token", cancelledAfter: limit) { _ in
                    [.bearer(BearerTokens(provider: Tokens()))]
                } answer: { _, _ in
                    .ok(text: "x")
                },
                calls(
                    "calls that sleep before another attempt", cancelledAfter: limit.map { $0 * 4 }
                ) { _ in
                    [.retry(attempts: 2, budget: nil)]
                } answer: { _, elapsed in
                    elapsed < .milliseconds(900)
                        ? .status(503, headers: ["Retry-After": "3"]) : .ok(text: "x")
                },
                calls("calls whose responses are stored", to: { "\($0)" }, cancelledAfter: limit) {
                    _ in
                    [Cache()]
                } answer: { _, _ in
                    .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
                },
                calls("calls in the line of a rate limit", cancelledAfter: limit) { count in
                    [.rateLimit(perSecond: 1, burst: 1, queue: count)]
                } answer: { _, _ in
                    .ok(text: "x")
                },
                calls("calls in the line of a concurrency limit", cancelledAfter: limit) { count in
                    [.concurrencyLimit(total: 4, perOrigin: 4, queue: count)]
                } answer: { _, _ in
                    .ok(text: "x")
                },
            ]
        } + [
            calls("calls whose token is refused") { _ in
                [.bearer(BearerTokens(BearerToken("old"), provider: Tokens()))]
            } answer: { request, _ in
                request.headers[.authorization] == "Bearer old" ? .status(401) : .ok(text: "x")
            }
        ]
    }

    /// Brings a token after a second.
    private struct Tokens: BearerTokenProvider {
        func token(replacing old: BearerToken?, by exchange: TokenExchange) async throws
            -> BearerToken
        {
            let answer = try await exchange.send(Request(.get, "http://auth.example/"))
            _ = try await answer.body.collect(upTo: 9)
            return BearerToken("new")
        }
    }

    @Test("grows with the calls, and not with the square", arguments: waits)
    func call(row: Hostile) async throws { try await row.check() }
}

extension TimeSource {
    /// Returns after a time.
    fileprivate func pass(_ duration: Duration) async {
        let end = OneShot<Void>()
        _ = schedule(after: duration) { end.settle(.success(())) }
        try? await end.value {}
    }
}
