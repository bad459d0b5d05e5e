// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("No call waits for ever under a shared RateLimit")
struct SharedRateLimitHangTests {
    @Test("A call after one whose permit came too late has its turn")
    func afterRefusal() async throws {
        try await Simulation(seed: 1, limit: .seconds(100)).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let client = simulation.client([
                SharedRateLimit(perSecond: 0.02, shared: SharedState(store, replicas: 1))
            ])
            _ = try await client.get(anywhere).response()
            let refused = client.get(anywhere).deadline(.seconds(3))
            #expect(await code(of: refused) == .deadlineExceeded)
            _ = try await client.get(anywhere).response()
            #expect(simulation.elapsed >= .seconds(50) && simulation.elapsed < .seconds(51))
        }
    }

    @Test("If a call with a high cost leaves the line, the cheap one behind it moves up")
    func highCost() async throws {
        for isShared in [true, false] {
            try await Simulation(seed: 1, limit: .seconds(200)).run { simulation in
                let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
                let shared = SharedState(store, replicas: 1)
                let limit = makeLimit(
                    [QuotaRule(1, per: .seconds(1), burst: 50)], over: isShared ? shared : nil
                ).cost { Int($0.headers["X-Cost"] ?? "") ?? 1 }
                let client = simulation.client([limit])
                _ = try await client.get(anywhere).header("X-Cost", "50").response()
                let context = Context(timeSource: simulation.clock)
                let start = simulation.elapsed
                await withTaskGroup { cheap in
                    await withTaskGroup { costly in
                        costly.addTask {
                            _ = await code(of: client.get(anywhere).header("X-Cost", "40"))
                        }
                        try? await context.sleep(for: .milliseconds(100))
                        cheap.addTask { _ = try? await client.get(anywhere).response() }
                        try? await context.sleep(for: .milliseconds(4900))
                        costly.cancelAll()
                    }
                    await cheap.waitForAll()
                    let time = simulation.elapsed - start
                    #expect(time >= .seconds(5) && time < .seconds(6), "\(time)")
                }
            }
        }
    }

    @Test(
        "What no store may answer is no answer, and does not make it ask without a pause",
        arguments: [
            QuotaAnswer.granted(QuotaGrant(permits: 0, offsets: [.zero])),
            .granted(QuotaGrant(permits: -7, offsets: [.zero])),
            .granted(QuotaGrant(permits: .min, offsets: [.zero])),
            .granted(QuotaGrant(permits: 1, offsets: [])),
            .granted(QuotaGrant(permits: 1, offsets: [Duration(attoseconds: .max)])),
            .coolingDown(.zero), .coolingDown(Duration(attoseconds: .min)),
            .coolingDown(Duration(attoseconds: .max)),
            .exhausted(retryAfter: Duration(attoseconds: .min)),
            .exhausted(retryAfter: Duration(attoseconds: .max)),
        ])
    func nonsense(answer: QuotaAnswer) async throws {
        try await Simulation(seed: 1, limit: .seconds(1000)).run { simulation in
            let end = simulation.clock.now.advanced(by: .seconds(20))
            // It comes to its senses, so that each call must have its turn then.
            let store = ScriptedStore { request in
                if simulation.clock.now < end { return answer }
                return .granted(QuotaGrant(permits: request.minimum, offsets: [.zero]))
            }
            let limit = SharedRateLimit(
                perSecond: 10,
                shared: SharedState(store, replicas: 1), cooldowns: Cooldowns(longest: .seconds(1)))
            let client = simulation.client([limit])
            for _ in 0..<3 { _ = try await client.get(anywhere).response() }
            #expect(simulation.elapsed < .seconds(40))
            #expect(store.takes < 25_000, "\(store.takes)")
        }
    }

    @Test("Clocks near their ends do not trap", arguments: [true, false])
    func clocks(isShared: Bool) async throws {
        for origin in [Int64.min, Int64.min / 2, -1, Int64.max / 4] as [Int64] {
            let clock = OffsetClock(ManualClock(), origin)
            let store = MemorySharedStore(timeSource: clock)
            let limit = makeLimit(
                [QuotaRule(1, per: .seconds(1), burst: 1e12)],
                over: isShared ? SharedState(store, replicas: 1) : nil, cooldowns: Cooldowns()
            ).cost { _ in .max }.readsQuotaFields()
            let client = Client(
                MockTransport { _ in
                    .status(429, headers: ["Retry-After": "9", "X-RateLimit-Remaining": "1"])
                }, clock: clock, [.deadline(.seconds(5)), limit])
            let first = await code(of: client.get(anywhere))
            #expect(first == nil || origin < .min / 4)
            #expect(await code(of: client.get(anywhere)) == .deadlineExceeded)
            limit.charge(.min, for: Request(.get, anywhere), by: clock)
            limit.charge(.max, for: Request(.get, anywhere), by: clock)
        }
    }

    @Test("Shutdown ends, and the calls in line with it, although the store hangs")
    func shutdown() async throws {
        try await Simulation(seed: 1, limit: .seconds(100)).run { simulation in
            let hangs = Countdown(3)
            let store = ScriptedStore { request in
                if !hangs.takeOne() { try await hang() }
                return .granted(
                    QuotaGrant(permits: request.maximum, offsets: [.milliseconds(100)]))
            }
            let limit = SharedRateLimit(
                [QuotaRule(10, per: .seconds(1), burst: 100)],
                shared: SharedState(store, replicas: 1))
            let client = simulation.client([limit])
            let context = Context(timeSource: simulation.clock)
            let answers = await withTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask { (try? await client.get(anywhere).response()) != nil }
                }
                try? await context.sleep(for: .milliseconds(450))
                let start = simulation.elapsed
                await client.shutdown()
                #expect(simulation.elapsed - start < .seconds(2))
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.contains(true) && answers.contains(false))
            #expect(limit.waiting == 0 && limit.reservedCount == 0)
        }
    }

    @Test("Cancelled calls and late answers leave no permit behind", arguments: 1...2)
    func leaks(seed: UInt64) async throws {
        try await Simulation(seed: seed, limit: .seconds(1000)).run { simulation in
            let clock = simulation.clock
            let store = FaultyStore(clock, delay: .milliseconds(1))
            // No permit comes back by itself.
            let rule = QuotaRule(1, per: .seconds(10_000_000), burst: 2500)
            let fleet = Fleet(2, store, clock) { SharedRateLimit([rule], shared: $0) }
            for moment in 0..<10 {
                _ = clock.schedule(after: .milliseconds(moment * 100)) {
                    store.set(delay: .milliseconds(moment % 3 == 2 ? 30 : 1))
                }
            }
            let context = Context(timeSource: clock)
            await withTaskGroup { group in
                for number in 0..<3000 {
                    group.addTask {
                        var random = simulation.random.generator(forCall: UInt64(number))
                        try? await context.sleep(for: .seconds(random.unit()))
                        let call = fleet.clients[number % 2].get(anywhere)
                        _ = try? await call.deadline(.seconds(random.unit() / 50)).response()
                    }
                }
                try? await context.sleep(for: .milliseconds(800))
                group.cancelAll()
            }
            store.set(delay: .milliseconds(1))
            try await context.sleep(for: .seconds(2))
            for limit in fleet.limits { await limit.shutdown() }
            let used = fleet.arrivals.count
            #expect(used > 600 && used < 2500, "\(used)")
            #expect(fleet.shared.allSatisfy { $0.waiting == 0 && $0.reservedCount == 0 })
            let left = store.left([rule])
            #expect(abs(left + Double(used) - 2500) < 0.5, "\(left) left, \(used) used")
        }
    }

    @Test("Many keys of one client leave little behind, with a store and without one")
    func keys() async throws {
        for isAway in [false, true] {
            try await Simulation(seed: 1).run { simulation in
                let store = FaultyStore(simulation.clock)
                store.set(isAway: isAway)
                let limit = SharedRateLimit(
                    perSecond: 1000, burst: 10, shared: SharedState(store, replicas: 1)
                ).key { $0.headers["X-Tenant"] }
                let client = simulation.client([limit])
                let context = Context(timeSource: simulation.clock)
                for number in 0..<1300 {
                    let call = client.get(anywhere).header("X-Tenant", "\(number)")
                    _ = try await call.response()
                    if number % 400 == 0 { try await context.sleep(for: .seconds(3)) }
                }
                try await context.sleep(for: .seconds(3))
                let count = limit.limiter.keys { _ in true }.count
                let driven = limit.limiter.keys { $0.isDriven }.count
                #expect(count <= 1024 && driven == 0, "\(count), \(driven)")
            }
        }
    }

    @Test("A heartbeat without an end does not stop those after it")
    func heartbeats() async throws {
        try await Simulation(seed: 1).run { simulation in
            let first = Countdown(1)
            let store = ScriptedStore {
                if first.takeOne() { try await hang() }
                return 7
            } _: { request in
                .granted(QuotaGrant(permits: request.minimum, offsets: [.zero]))
            }
            let shared = SharedState(store)
            let client = simulation.client([SharedRateLimit(perSecond: 10, shared: shared)])
            let context = Context(timeSource: simulation.clock)
            for _ in 0..<10 {
                _ = try await client.get(anywhere).response()
                try await context.sleep(for: .seconds(1))
            }
            #expect(shared.replicas == 7)
        }
    }
}

/// A clock whose origin lies elsewhere.
private final class OffsetClock: TimeSource {
    private let clock: ManualClock
    private let origin: Int64

    init(_ clock: ManualClock, _ origin: Int64) {
        self.clock = clock
        self.origin = origin
    }

    var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: origin &+ clock.now.nanoseconds)
    }
    var date: Date { clock.date }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken { clock.schedule(after: delay, handler) }
}
