// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("RateLimit over a shared store, many calls at once")
struct SharedRateLimitConcurrencyTests {
    @Test("1,000 calls at once, of which some are cancelled, leave nothing behind")
    func thousand() async throws {
        let time = SystemTimeSource()
        let store = MemorySharedStore(timeSource: time)
        let rule = QuotaRule(20_000, per: .seconds(1), burst: 100)
        let limits = (0..<2).map { _ in
            // A busy machine must not turn this into a test of the local limit.
            SharedRateLimit(
                [rule], shared: SharedState(store, timeLimit: .seconds(10), replicas: 2))
        }
        let clients = limits.map {
            Client(MockTransport { _ in .ok() }, clock: time, Stack([$0]))
        }
        let passed = await withTaskGroup { group in
            for number in 0..<1000 {
                let client = clients[number % 2]
                group.addTask {
                    let call = Task { await code(of: client.get(anywhere)) }
                    if number % 7 == 0 { call.cancel() }
                    return await call.value == nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(passed >= 850)
        for limit in limits { await limit.shutdown() }
        #expect(limits.allSatisfy { $0.waiting == 0 && $0.reservedCount == 0 })
        // All that was not given back comes again within this time.
        let key = "default|http://a.example"
        try await until("a whole quota", limit: .seconds(5)) {
            store.permitsLeft(of: key, rules: [rule]) == 100
        }
    }
}
