// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// Which limits draw on one quota of a shared store, and which do not.
@Suite("What a shared quota belongs to")
struct QuotaIdentityTests {
    private let slow = QuotaRule(50, per: .seconds(3600), burst: 50)
    private let fast = QuotaRule(100, per: .seconds(1), burst: 50)
    private let daily = QuotaRule(5000, per: .seconds(86_400), burst: 5000)

    /// How many of some calls in a row succeed within a deadline of five seconds.
    private func passed(
        _ count: Int, _ store: MemorySharedStore, _ simulation: Simulation,
        outside: [any Gate] = [], _ limits: (SharedState) -> [SharedRateLimit]
    ) async -> Int {
        // So many that none holds permits idle.
        let shared = SharedState(store, replicas: 100)
        let client = simulation.client(Stack([Deadline(.seconds(5))] + outside + limits(shared)))
        var passed = 0
        for _ in 0..<count where (try? await client.get(anywhere).response()) != nil { passed += 1 }
        await client.shutdown()
        return passed
    }

    @Test("A rule that replaces another one begins anew, and the old one keeps its own count")
    func replaced() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let old = { (shared: SharedState) in [SharedRateLimit([slow], shared: shared)] }
            #expect(await passed(50, store, simulation, old) == 50)
            let new = { (shared: SharedState) in [SharedRateLimit([fast], shared: shared)] }
            #expect(await passed(20, store, simulation, new) == 20)
            // As in a rolling deploy: what the new version uses is not charged to the old one.
            #expect(await passed(1, store, simulation, old) == 0)
        }
    }

    @Test("A smaller burst begins anew too, and is not paid off first")
    func smallerBurst() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            #expect(
                await passed(50, store, simulation) { [SharedRateLimit([slow], shared: $0)] } == 50)
            let small = QuotaRule(50, per: .seconds(3600), burst: 10)
            #expect(
                await passed(20, store, simulation) { [SharedRateLimit([small], shared: $0)] } == 10
            )
        }
    }

    @Test("The order of the rules is of no matter")
    func order() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let rules = [slow, fast]
            #expect(
                await passed(40, store, simulation) { [SharedRateLimit(rules, shared: $0)] } == 40)
            let swapped = [fast, slow]
            // Ten are left of the fifty in an hour.
            #expect(
                await passed(20, store, simulation) { [SharedRateLimit(swapped, shared: $0)] } == 10
            )
        }
    }

    @Test("A rule that is given twice counts once")
    func twice() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let rules = [slow, slow]
            #expect(
                await passed(60, store, simulation) { [SharedRateLimit(rules, shared: $0)] } == 50)
        }
    }

    @Test("Two limits of one stack do not drain each other")
    func twoLimits() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let perSecond = QuotaRule(500, per: .seconds(1), burst: 50)
            let count = await passed(300, store, simulation) {
                [SharedRateLimit([perSecond], shared: $0), SharedRateLimit([daily], shared: $0)]
            }
            #expect(count == 300)
        }
    }

    @Test("Two limits of one stack with the same rules do not share, in all replicas alike")
    func twins() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let twins = { (shared: SharedState) in
                [SharedRateLimit([slow], shared: shared), SharedRateLimit([slow], shared: shared)]
            }
            #expect(await passed(30, store, simulation, twins) == 30)
            // Another replica goes on with the two quotas.
            #expect(await passed(30, store, simulation, twins) == 20)
        }
    }

    @Test("A limit that stands twice in a stack is one limit")
    func sameTwice() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let count = await passed(60, store, simulation) {
                let limit = SharedRateLimit([slow], shared: $0)
                return [limit, limit]
            }
            #expect(count == 25)
        }
    }

    @Test("Limits that are named alike share a quota, wherever they stand; other names do not")
    func named() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            func named(_ keys: String?...) -> (SharedState) -> [SharedRateLimit] {
                { shared in keys.map { SharedRateLimit([slow], shared: shared, key: $0) } }
            }
            #expect(await passed(20, store, simulation, named("a")) == 20)
            #expect(await passed(20, store, simulation, named("b")) == 20)
            #expect(await passed(20, store, simulation, named(nil)) == 20)
            // Thirty are left of “a”, of which each call takes two.
            #expect(await passed(20, store, simulation, named("a", "a")) == 15)
            #expect(await passed(40, store, simulation, named("b")) == 30)
            #expect(await passed(40, store, simulation, named(nil)) == 30)
        }
    }

    @Test("A limit keeps its quota if other gates, and limits with other rules, are put before it")
    func place() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            #expect(
                await passed(30, store, simulation) { [SharedRateLimit([slow], shared: $0)] } == 30)
            let outside = [RateLimit([slow])]
            let count = await passed(30, store, simulation, outside: outside) {
                [SharedRateLimit([daily], shared: $0), SharedRateLimit([slow], shared: $0)]
            }
            #expect(count == 20)
        }
    }

    @Test("Limits in groups have their places too, and those with a rule in common share none")
    func groups() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let shared = SharedState(store, replicas: 100)
            let stack: Stack = [
                Deadline(.seconds(5)), Group([.sharedRateLimit([slow, fast], shared: shared)]),
                .sharedRateLimit([slow], shared: shared),
            ]
            let client = simulation.client(stack)
            for _ in 0..<30 { _ = try await client.get(anywhere).response() }
            // Replaced, the stack has one of them, in the first place.
            client.replace(stack: [Deadline(.seconds(5)), stack.gates[2]])
            for _ in 0..<20 { _ = try await client.get(anywhere).response() }
            await expectError(.deadlineExceeded) { try await client.get(anywhere).response() }
        }
    }

    @Test("What is given back, and what a server tells, goes to the limit's own quota")
    func corrections() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let shared = SharedState(store, replicas: 100)
            let limits = ["a", "b"].map { SharedRateLimit([slow], shared: shared, key: $0) }
            let clients = limits.map { limit in
                Client(
                    MockTransport { _ in .ok(headers: ["X-RateLimit-Remaining": "5"]) },
                    clock: simulation.clock, [Deadline(.seconds(5)), limit.readsQuotaFields()])
            }
            _ = try await clients[0].get(anywhere).response()
            await clients[0].shutdown()
            let rules = limits.map { $0.driver.plan.storedRules[0] }
            let key = "default|http://a.example"
            #expect(store.permitsLeft(of: key, rules: [rules[0]]).map { $0 <= 5 } == true)
            #expect(store.permitsLeft(of: key, rules: [rules[1]]) == 50)
            #expect(store.permitsLeft(of: key, rules: [slow]) == 50)
        }
    }

    @Test("What a limit states names the quota, if it has a name")
    func facts() throws {
        let shared = SharedState(MemorySharedStore())
        let limits = ["a", "a", "b", nil].map { SharedRateLimit([slow], shared: shared, key: $0) }
        let facts = try limits.map { try #require($0.facts(for: nil)) }
        #expect(facts[0].sharedQuotas == facts[1].sharedQuotas)
        #expect(facts[0].sharedQuotas.isDisjoint(with: facts[2].sharedQuotas))
        #expect(facts[0].sharedQuotas.count == 1 && facts[3].sharedQuotas.isEmpty)
        #expect(facts[0].summary.contains("over all replicas, as “a”"))
    }
}
