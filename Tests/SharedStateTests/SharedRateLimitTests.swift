// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("SharedRateLimit")
struct SharedRateLimitTests {
    private static let rule = QuotaRule(500, per: .seconds(1), burst: 50)

    /// Calls from many workers of each replica until a moment.
    static func storm(
        _ fleet: Fleet, workers: Int, for duration: Duration, _ simulation: Simulation,
        failures: Failures = Failures()
    ) async {
        let end = simulation.clock.now.advanced(by: duration)
        await withTaskGroup { group in
            for client in fleet.clients {
                for _ in 0..<workers {
                    group.addTask {
                        while simulation.clock.now < end {
                            do { _ = try await client.get(anywhere).response() } catch {
                                failures.add(error)
                                return
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("Replicas together use the whole quota, none of it twice, and share it", arguments: 1...2)
    func fleet(seed: UInt64) async throws {
        try await Simulation(seed: seed).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let fleet = Fleet(8, store, simulation.clock) {
                SharedRateLimit(perSecond: 500, burst: 50, shared: $0)
            }
            let failures = Failures()
            await Self.storm(
                fleet, workers: 20, for: .seconds(5), simulation, failures: failures)
            #expect(failures.all.isEmpty, "\(failures.all.prefix(3))")
            let most = fleet.arrivals.most(in: .seconds(1))
            #expect(most <= 552, "in one second: \(most)")
            let used = fleet.arrivals.count(from: .seconds(1), to: .seconds(5))
            #expect(used >= 1940, "of 2000: \(used)")
            let shares = (0..<8).map { fleet.arrivals.count(of: $0) }
            let mean = Double(shares.reduce(0, +)) / 8
            #expect(shares.allSatisfy { abs(Double($0) - mean) <= mean * 0.2 }, "\(shares)")
        }
    }

    @Test("A slow quota without a burst is used whole, and shared too")
    func slow() async throws {
        try await Simulation(seed: 4).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(2))
            let fleet = Fleet(12, store, simulation.clock, fixed: false) {
                SharedRateLimit(perSecond: 10, shared: $0)
            }
            await Self.storm(fleet, workers: 2, for: .seconds(60), simulation)
            #expect(fleet.arrivals.most(in: .seconds(1)) <= 11)
            let used = fleet.arrivals.count(from: .seconds(1), to: .seconds(59))
            #expect(used >= 570, "of 580: \(used)")
            let shares = (0..<12).map { fleet.arrivals.count(of: $0) }
            #expect(shares.allSatisfy { (40...60).contains($0) }, "\(shares)")
            let replicas = fleet.shared.map { $0.driver.plan.access.replicas }
            #expect(replicas == Array(repeating: 12, count: 12))
        }
    }

    @Test("After a rest a burst passes at once, and what is not used is given back")
    func burst() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let fleet = Fleet(1, store, simulation.clock) {
                SharedRateLimit([QuotaRule(10, per: .seconds(1), burst: 100)], shared: $0)
            }
            await withTaskGroup { group in
                for _ in 0..<60 {
                    group.addTask { _ = try? await fleet.clients[0].get(anywhere).response() }
                }
            }
            #expect(simulation.elapsed < .milliseconds(30))
            #expect(fleet.arrivals.count == 60)
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .seconds(1))
            let left = store.left([QuotaRule(10, per: .seconds(1), burst: 100)])
            #expect(left > 49 && left <= 51, "\(left)")
        }
    }

    @Test("A lease lets calls pass without a round trip for each, within its bound")
    func leases() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let rule = QuotaRule(20_000, per: .seconds(1), burst: 400)
            let fleet = Fleet(2, store, simulation.clock) { SharedRateLimit([rule], shared: $0) }
            let context = Context(timeSource: simulation.clock)
            // 2000 calls a second, which is far below the quota.
            var most = 0
            for _ in 0..<1000 {
                try await context.sleep(for: .microseconds(500))
                _ = try await fleet.clients[0].get(anywhere).response()
                most = max(most, fleet.shared[0].reservedCount)
            }
            #expect(store.takes < 300, "\(store.takes) requests for 1000 calls")
            #expect(most > 1 && most <= 50, "\(most) permits were idle")
            try await context.sleep(for: .seconds(1))
            #expect(fleet.shared[0].reservedCount == 0)
            #expect(store.left([rule]) > 399)
        }
    }

    @Test("The line of a replica is first come, first served")
    func order() async throws {
        try await Simulation(seed: 3).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(2))
            let fleet = Fleet(1, store, simulation.clock) {
                SharedRateLimit(perSecond: 50, shared: $0)
            }
            let context = Context(timeSource: simulation.clock)
            await withTaskGroup { group in
                for number in 0..<30 {
                    group.addTask {
                        let path = "http://a.example/\(number)"
                        _ = try? await fleet.clients[0].get(Target(path)).response()
                    }
                    try? await context.sleep(for: .microseconds(10))
                }
            }
            #expect(fleet.arrivals.paths == (0..<30).map { "/\($0)" })
            #expect(simulation.elapsed < .milliseconds(600), "\(simulation.elapsed)")
        }
    }

    @Test("20,000 cancelled waits leave no trace in the store")
    func cancelled() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let rule = QuotaRule(20, per: .seconds(1), burst: 5)
            let fleet = Fleet(2, store, simulation.clock) {
                SharedRateLimit([rule], queue: 30_000, shared: $0)
            }
            let context = Context(timeSource: simulation.clock)
            for _ in 0..<20 {
                await withTaskGroup { group in
                    for number in 0..<1000 {
                        let client = fleet.clients[number % 2]
                        group.addTask { _ = try? await client.get(anywhere).response() }
                    }
                    try? await context.sleep(for: .milliseconds(37))
                    group.cancelAll()
                }
            }
            let sent = fleet.arrivals.count
            #expect(fleet.limits.allSatisfy { $0.waiting == 0 })
            let elapsed = Double(simulation.elapsed / .milliseconds(1)) / 1000
            try await context.sleep(for: .milliseconds(50))
            let now = elapsed + 0.05
            // All that is missing in the store are calls that were sent.
            let left = store.left([rule])
            #expect(sent <= 5 + Int(elapsed * 20) + 1)
            #expect(left >= min(5, 5 + now * 20 - Double(sent) - 0.5), "\(left) of \(sent)")
            try await context.sleep(for: .milliseconds(300))
            #expect(store.left([rule]) > 4.9)
        }
    }

    @Test("A gate that is shut down gives back what it holds")
    func shutdown() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let rule = QuotaRule(1, per: .seconds(1000), burst: 400)
            let fleet = Fleet(1, store, simulation.clock) { SharedRateLimit([rule], shared: $0) }
            for _ in 0..<50 { _ = try await fleet.clients[0].get(anywhere).response() }
            let held = fleet.shared[0].reservedCount
            #expect(held > 0)
            await fleet.limits[0].shutdown()
            #expect(abs(store.left([rule]) - 350) < 1, "\(store.left([rule])), held \(held)")
        }
    }

    @Test("Tenants have quotas of their own, and a call may cost several permits")
    func tenants() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            let rule = QuotaRule(10, per: .seconds(1), burst: 10)
            let fleet = Fleet(4, store, simulation.clock) {
                SharedRateLimit([rule], queue: 0, shared: $0)
                    .key { $0.headers["X-Tenant"] }
                    .cost { Int($0.headers["X-Cost"] ?? "") ?? 1 }
            }
            func get(_ replica: Int, _ tenant: String, cost: Int) async -> ClientError.Code? {
                await code(
                    of: fleet.clients[replica].get(anywhere)
                        .header("X-Tenant", tenant).header("X-Cost", "\(cost)"))
            }
            #expect(await get(0, "a", cost: 7) == nil)
            #expect(await get(1, "a", cost: 7) == .rateLimited)
            #expect(await get(1, "b", cost: 7) == nil)
            #expect(await get(1, "a", cost: 0) == nil)
            let left = store.left([rule], of: "http://a.example (b)")
            #expect(left == 3, "\(left)")
        }
    }

    @Test("Several rules hold at once, with a store and without", arguments: [true, false])
    func rules(isShared: Bool) async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            let rules = [
                QuotaRule(10, per: .seconds(1), burst: 2),
                QuotaRule(20, per: .seconds(20), burst: 12),
            ]
            let fleet = Fleet(1, store, simulation.clock) {
                makeLimit(rules, over: isShared ? $0 : nil)
            }
            await Self.storm(fleet, workers: 3, for: .seconds(10), simulation)
            // Ten each second, until twelve and one each second have gone.
            #expect(fleet.arrivals.most(in: .seconds(1)) <= 12)
            let early = fleet.arrivals.count(from: .zero, to: .milliseconds(1050))
            #expect((11...12).contains(early), "\(early)")
            let all = fleet.arrivals.count(from: .zero, to: .milliseconds(9990))
            #expect((20...22).contains(all), "\(all)")
        }
    }

    @Test("A call whose permit comes too late fails at once, with the time when it comes")
    func deadline() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let shared = SharedState(store, replicas: 2)
            let limit = SharedRateLimit(perSecond: 0.1, shared: shared)
            let client = simulation.client([Deadline(.seconds(3)), limit])
            _ = try await client.get(anywhere).response()
            let error = await #expect(throws: ClientError.self) {
                try await client.get(anywhere).response()
            }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.retryAfter ?? .zero > .seconds(9))
            #expect(simulation.elapsed < .milliseconds(10))
        }
    }

    @Test("A call that finds the line full fails at once")
    func full() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let limit = SharedRateLimit(
                perSecond: 2, queue: 0, shared: SharedState(store, replicas: 2))
            let client = simulation.client([limit])
            _ = try await client.get(anywhere).response()
            let error = await #expect(throws: ClientError.self) {
                try await client.get(anywhere).response()
            }
            #expect(error?.code == .rateLimited)
            #expect((error?.retryAfter ?? .zero) > .milliseconds(450))
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .milliseconds(510))
            _ = try await client.get(anywhere).response()
        }
    }
}

/// The errors that calls have ended with.
final class Failures: Sendable {
    private let errors = Mutex<[String]>([])
    func add(_ error: any Error) { errors.withLock { $0.append("\(error)") } }
    var all: [String] { errors.withLock { $0 } }
}
