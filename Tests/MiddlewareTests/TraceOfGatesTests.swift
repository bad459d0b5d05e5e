// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeInspection
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Gates in a trace")
struct TraceOfGatesTests {
    private struct Tokens: BearerTokenProvider {
        func token(
            replacing current: BearerToken?, by exchange: TokenExchange
        ) async throws -> BearerToken {
            let answer = try await exchange.send(Request(.post, "http://t.example/token"))
            _ = try await answer.body.collect(upTo: 100)
            return BearerToken("fresh")
        }
    }

    private func traces(
        _ calls: Int, _ answers: [MockResponse], _ gates: any Gate...
    ) async throws -> [Trace] {
        try await traces(calls, answers) { _ in gates }
    }

    private func traces(
        _ calls: Int, _ answers: [MockResponse],
        stack: @escaping @Sendable (Simulation) -> [any Gate]
    ) async throws -> [Trace] {
        try await Simulation(seed: 1).run { simulation async throws -> [Trace] in
            let store = TraceStore()
            let client = Client(
                transport: MockTransport([MockStub(answers) { _ in true }]),
                stack: Stack(stack(simulation)),
                serializers: SerializerTable(), trace: store, timeSource: simulation.clock,
                randomSource: simulation.random)
            await withTaskGroup { group in
                for _ in 0..<calls {
                    group.addTask {
                        _ = try? await client.get(anywhere).serialize(with: Text())
                    }
                }
            }
            await client.shutdown(grace: .seconds(100))
            return store.traces
        }
    }

    private func waits(_ traces: [Trace]) -> [String] {
        traces.flatMap(\.spans).filter { $0.kind == .wait }.map { span in
            "\(span.name) \((span.duration ?? .zero) / .milliseconds(1))"
        }
    }

    @Test("A call that waits in the line of a limit says so")
    func lines() async throws {
        let slow = MockResponse.ok(text: "a").delayed(by: .milliseconds(300))
        let permits = try await traces(3, [slow], ConcurrencyLimit(total: 1, perOrigin: 1))
        #expect(waits(permits) == ["line for a permit 300.0", "line for a permit 600.0"])
        let rate = try await traces(2, [slow], RateLimit(perSecond: 2))
        #expect(waits(rate) == ["rate limit 500.0"])
    }

    @Test("A wait for shared state, a shared limit or a cool-down says what it is for")
    func shared() async throws {
        let told = MockResponse.status(429, headers: ["Retry-After": "2"])
        let found = try await traces(1, [told, .ok(text: "a")]) { simulation in
            let shared = SharedState(MemorySharedStore(timeSource: simulation.clock))
            return [
                Retry(cooldowns: shared.cooldowns), SharedRateLimit(perSecond: 2, shared: shared),
            ]
        }
        #expect(
            waits(found) == [
                "rate limit 0.0", "shared state 0.0", "back-off 2000.0", "rate limit 0.0",
            ])
        let lines = try await traces(2, [told]) { simulation in
            let shared = SharedState(MemorySharedStore(timeSource: simulation.clock))
            return [SharedRateLimit(perSecond: 2, shared: shared)]
        }
        #expect(waits(lines) == ["rate limit 0.0", "cool-down 2000.0"])
    }

    @Test("The exchange for a token lies within the wait for it")
    func refresh() async throws {
        let tokens = BearerTokens(provider: Tokens())
        let answers = [
            MockResponse.ok(text: "{}").delayed(by: .milliseconds(400)),
            .ok(text: "a").delayed(by: .milliseconds(100)),
        ]
        let trace = try #require(
            try await traces(
                1, answers, BearerAuthentication(tokens, origins: ["http://a.example"])
            ).first)
        let wait = try #require(trace.spans.first { $0.kind == .wait })
        #expect(wait.name == "refresh of the token")
        #expect(wait.duration == .milliseconds(400))
        #expect(trace.children(of: wait).map(\.name) == ["POST /token"])
        #expect(trace.spans[0].duration == .milliseconds(500))
        let own = trace.spans.compactMap { trace.ownTime(of: $0) }.reduce(.zero, +)
        #expect(own == .milliseconds(500))
    }

    @Test("A losing attempt of a hedge keeps its own times, and is cancelled")
    func hedge() async throws {
        let answers = [
            MockResponse.ok(text: "slow").delayed(by: .seconds(9)),
            .ok(text: "fast").delayed(by: .milliseconds(200)),
        ]
        let trace = try #require(
            try await traces(1, answers, Hedge(after: .milliseconds(500))).first)
        let exchanges = trace.spans.filter { $0.kind == .exchange }
        #expect(exchanges.map(\.start) == [.zero, .milliseconds(500)])
        #expect(exchanges.map(\.duration) == [.milliseconds(700), .milliseconds(200)])
        #expect(exchanges.map(\.outcome) == [.cancelled, .returned(200)])
        #expect(exchanges.map { $0.exchange?.bytesReceived } == [0, 4])
    }

    @Test("Each hop of a redirect is an exchange")
    func redirect() async throws {
        let answers = [
            MockResponse.status(302, headers: ["Location": "/y"]), .ok(text: "a"),
        ]
        let trace = try #require(try await traces(1, answers, Redirect()).first)
        #expect(
            trace.spans.filter { $0.kind == .exchange }.map(\.name) == ["GET /x", "GET /y"])
    }
}
