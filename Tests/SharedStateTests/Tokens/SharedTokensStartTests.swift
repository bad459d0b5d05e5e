// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("Replicas with a common token that start together")
struct SharedTokensStartTests {
    /// Signs in anew each time, and counts that.
    private struct SignIn: BearerTokenProvider {
        let count: Tally

        var spendsRefreshToken: Bool { false }

        func token(
            replacing old: BearerToken?, by exchange: TokenExchange
        ) async throws -> BearerToken { BearerToken("secret-\(count.add())") }
    }

    /// The calls of twelve replicas, whose stores have an outage at first.
    private func signIns(
        _ kind: FaultySharedStore.Outage.Kind, for time: Duration, hasLimit: Bool = false
    ) async throws -> (count: Int, took: Duration) {
        let count = Tally()
        let took = try await Simulation(seed: 1).run { simulation in
            let memory = MemorySharedStore(timeSource: simulation.clock)
            try await withThrowingTaskGroup { group in
                for index in 0..<12 {
                    let store = FaultySharedStore(
                        memory, seed: UInt64(index), timeSource: simulation.clock,
                        outages: [.init(after: .zero, for: time, kind)])
                    let state = SharedState(store, replicas: 12)
                    let tokens = BearerTokens(
                        nil, provider: SignIn(count: count),
                        shared: try SharedTokens(state, key: "account", storesSecrets: true))
                    let limit: [any Gate] =
                        hasLimit
                        ? [.sharedRateLimit(perSecond: 1200, burst: 1200, shared: state)] : []
                    let client = Client(
                        transport: MockTransport { _ in .ok(text: "in") },
                        stack: Stack(limit + [.bearer(tokens)]), serializers: SerializerTable(),
                        timeSource: simulation.clock, randomSource: simulation.random)
                    for _ in 0..<5 {
                        group.addTask { _ = try await client.get(anywhere).serialize(with: Text()) }
                    }
                }
                try await group.waitForAll()
            }
            return simulation.elapsed
        }
        return (count.count, took)
    }

    @Test(
        "One of them signs in, although the connections to the store take longer than its time limit",
        arguments: [false, true])
    func slowConnections(hasLimit: Bool) async throws {
        let slow = Duration.milliseconds(300)
        let (count, took) = try await signIns(.delay(slow), for: slow, hasLimit: hasLimit)
        #expect(count == 1)
        #expect(took < .seconds(2))
    }

    @Test("A store that refuses costs no wait, and one that is silent two seconds, once")
    func away() async throws {
        let refused = try await signIns(.refusal, for: .seconds(60))
        #expect(refused.count == 12)
        #expect(refused.took < .milliseconds(100))
        let silent = try await signIns(.silence, for: .seconds(60))
        #expect(silent.count == 12)
        #expect(silent.took >= .seconds(2) && silent.took < .seconds(3))
    }
}
