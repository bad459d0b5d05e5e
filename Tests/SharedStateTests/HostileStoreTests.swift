// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// A store that counts any number of replicas, and never has a permit.
private final class LyingStore: SharedStore {
    let takes = Tally()
    private let inner = MemorySharedStore()
    private let after: Duration?

    init(after: Duration?) { self.after = after }

    func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        takes.add()
        guard let after else { throw ClientError(.connection, "away") }
        return .exhausted(retryAfter: after)
    }
    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {}
    func lower(to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]) async throws {}
    func coolDown(for duration: Duration, _ key: String) async throws {}
    func cooldown(of key: String) async throws -> Duration? { nil }
    func token(_ key: String) async throws -> StoredToken? { nil }
    func store(
        _ token: StoredToken, _ key: String, for lifetime: Duration?
    ) async throws -> Bool { true }
    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        await inner.lock(key, for: duration)
    }
    func unlock(_ lock: SharedLock) async throws {}
    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int {
        .max
    }
}

@Suite("A store that lies")
struct HostileStoreTests {
    @Test(
        "A store that has no permit and says so with no time to wait is asked at the rate of the rule"
    )
    func noTime() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = LyingStore(after: .seconds(-1))
            let limit = SharedRateLimit(perSecond: 10, shared: SharedState(store, replicas: 2))
            let client = simulation.client([limit])
            let call = client.get(anywhere).deadline(.seconds(10))
            _ = try? await call.response()
            #expect(store.takes.count > 3)
            #expect(store.takes.count < 150, "\(store.takes.count)")
        }
    }

    @Test("A number of replicas beyond all reason is none")
    func replicas() async throws {
        var count = ReplicaCount()
        count.end(.max)
        #expect(count.known == nil)
        count.end(12)
        count.end(10_001)
        #expect(count.known == 12)
        try await Simulation(seed: 1).run { simulation in
            let limit = SharedRateLimit(
                perSecond: 10, shared: SharedState(LyingStore(after: nil)))
            let client = simulation.client([limit])
            for _ in 0..<10 { _ = try await client.get(anywhere).response() }
            #expect(simulation.elapsed < .seconds(60), "\(simulation.elapsed)")
        }
    }
}
