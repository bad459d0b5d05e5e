// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

// State that replicas share. That a secret can be read on its way to a store is not simulated: nothing
// in a simulation has a wire.
extension LintHarm {
    static let states: [LintHarm] = [
        LintHarm(
            "store-limit-near-timeout",
            wrong: { [.deadline(.milliseconds(200)), limit(storeHas: .milliseconds(150))] },
            right: { [.deadline(.milliseconds(200)), limit(storeHas: .milliseconds(20))] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.ok(text: "x").delayed(by: .milliseconds(100)))])
                return (try? await client(stack, simulation, server).get("x").string()) == nil
            }),
        LintHarm(
            "local-limit-beside-shared-state",
            wrong: {
                let shared = SharedState(quotas)
                return [
                    .deadline(.seconds(5)), .retry(cooldowns: shared.cooldowns),
                    .rateLimit(perSecond: 0.001, burst: 5, queue: 0),
                ]
            },
            right: {
                let shared = SharedState(quotas)
                return [
                    .deadline(.seconds(5)), .retry(cooldowns: shared.cooldowns),
                    .sharedRateLimit(perSecond: 0.001, burst: 5, queue: 0, shared: shared),
                ]
            },
            inFleet: { stacks, simulation in
                let server = MockTransport([.any(.ok(text: "x"))])
                let replicas = stacks.map { client($0, simulation, server) }
                for _ in 0..<5 {
                    for replica in replicas { _ = try? await replica.get("x").string() }
                }
                return server.sentCount > 5
            }),
        LintHarm(
            "quota-drawn-twice",
            wrong: { [.deadline(.seconds(5)), named("twice"), named("twice")] },
            right: { [.deadline(.seconds(5)), named("one"), named("two")] },
            happens: { stack, simulation in
                let client = client(stack, simulation, MockTransport([.any(.ok(text: "x"))]))
                for _ in 0..<4 where (try? await client.get("x").string()) == nil { return true }
                return false
            }),
    ]

    // A limit of four calls for all stacks with this name.
    private static func named(_ key: String) -> SharedRateLimit {
        SharedRateLimit(
            [QuotaRule(0.001, per: .seconds(1), burst: 4)], queue: 0,
            shared: SharedState(quotas, replicas: 100), key: key)
    }

    /// A mistake that two replicas of a service are needed to see.
    private init(
        _ rule: String, wrong: @escaping @Sendable () -> Stack,
        right: @escaping @Sendable () -> Stack,
        inFleet happens: @escaping @Sendable ([Stack], Simulation) async throws -> Bool
    ) {
        self.rule = rule
        self.wrong = wrong
        self.right = right
        self.happens = { stack, simulation in try await happens([stack(), stack()], simulation) }
    }

    // No permit comes back to it.
    private static let quotas = MemorySharedStore(timeSource: ManualClock())

    // A limit whose store gives no answer.
    private static func limit(storeHas time: Duration) -> SharedRateLimit {
        let clock = ManualClock()
        let store = FaultySharedStore(
            MemorySharedStore(timeSource: clock), seed: 1, timeSource: clock)
        store.setOutage(.silence)
        return SharedRateLimit(perSecond: 1000, shared: SharedState(store, timeLimit: time))
    }
}
