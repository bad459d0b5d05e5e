// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeSharedState
import TurnpikeTraffic

@Suite("One quota for many replicas")
struct OneQuotaForManyReplicasExamples {
    private let store = MemorySharedStore()

    @Test("A limit over a store")
    func limit() {
        let shared = SharedState(store)  // a ValkeyServer, for example
        let client = Client(
            baseURL: "https://api.example.com/",
            stack: [
                .deadline(.seconds(10)), .retry(),
                .sharedRateLimit(perSecond: 500, burst: 50, shared: shared),
                .attemptTimeout(.seconds(3)),
            ])
        #expect(client.fault == nil)
    }

    @Test("Each tenant has a quota by two rules")
    func tenants() async throws {
        let shared = SharedState(store)
        let limit = SharedRateLimit(
            [
                QuotaRule(10, per: .seconds(1), burst: 20),
                QuotaRule(50_000, per: .seconds(86_400), burst: 50_000),
            ], shared: shared
        ).key { $0.headers["X-Tenant"] }
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok() }, stack: [limit])
        #expect(try await client.get("x").response().status == 200)
    }

    @Test("The answer of a language model tells how many tokens it cost")
    func tokens() async throws {
        let shared = SharedState(store)
        struct Answer: Decodable {
            struct Usage: Decodable { let total_tokens: Int }
            let usage: Usage
        }

        let tokens = SharedRateLimit(
            [QuotaRule(100_000, per: .seconds(60), burst: 20_000)], shared: shared
        )
        .cost { 500 + Int($0.body.length ?? 4000) / 4 }
        .actualCost(upTo: 1_048_576) { _, content in
            (try? JSONDecoder().decode(Answer.self, from: content))?.usage.total_tokens
        }
        let transport = MockTransport { _ in .ok(json: ["usage": ["total_tokens": 12]]) }
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [tokens])
        let (answer, _) = try await client.get("x").decoded(Answer.self)
        #expect(answer.usage.total_tokens == 12)
    }

    @Test("A retry honours cool-downs without a limit")
    func retry() {
        let shared = SharedState(store)
        let client = Client(
            baseURL: "https://api.example.com/", stack: [.retry(cooldowns: shared.cooldowns)])
        #expect(client.fault == nil)
    }
}
