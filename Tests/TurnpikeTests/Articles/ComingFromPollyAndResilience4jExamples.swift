// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

private struct Restart: Interceptor {
    let rate: Double
    let restart: @Sendable () async throws -> Void

    init(rate: Double, _ restart: @escaping @Sendable () async throws -> Void) {
        self.rate = rate
        self.restart = restart
    }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        if context.random.unit() < rate { try await restart() }
        return try await next(request)
    }
}

@Suite("Coming from Polly and resilience4j")
struct ComingFromPollyAndResilience4jExamples {
    private let clock = ManualClock()

    private func restartRedis() async throws {}

    @Test(
        "The pipeline of the chapter on chaos makes no fault before the drill, and then makes them")
    func pipeline() async throws {
        let transport = MockTransport { _ in .ok(text: "x") }
        let drill = Switch(share: 0)
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .concurrencyLimit(total: 10, perOrigin: 10, queue: 100),
                .retry(attempts: 4, backoff: .constant(.seconds(2))),
                .circuitBreaker(failureRatio: 0.1, minimum: 100, open: .seconds(5), probes: 1),
                .attemptTimeout(.seconds(5)),
                .chaos(.latency(.seconds(60)), rate: 0.02, switch: drill),
                .chaos(.error(.connection), rate: 0.02, switch: drill),
                .chaos(.status(500), rate: 0.02, switch: drill),
                Restart(rate: 0.001) { try await restartRedis() },
            ])
        let request = Request(.get, "https://api.example.com/users/1")
        func faults() -> Int {
            client.stack.explain(request, on: transport).gates.filter {
                $0.name == "Chaos" && $0.status == .applies
            }.count
        }
        #expect(client.fault == nil && faults() == 0)
        #expect(try await client.get("users/1").string() == "x")
        drill.set(share: 1, by: "Ann, game day")
        #expect(faults() == 3)
        let findings = client.stack.lint(for: transport).map(\.rule)
        #expect(findings.contains("concurrency-limit-outside-retry"))
    }

    @Test("Behavior of one's own is a gate")
    func behavior() async throws {
        let restarts = Mutex(0)
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok(text: "x") },
            stack: [Restart(rate: 0.25) { restarts.withLock { $0 += 1 } }],
            randomSource: SeededRandomSource(seed: 1))
        for _ in 0..<100 { _ = try await client.get("x").data() }
        #expect((10...40).contains(restarts.withLock { $0 }))
    }

    @Test("A retry by statuses, codes and a condition")
    func retry() async throws {
        let policy = RetryPolicy(statuses: [500], codes: [.connection])
            .deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
        let retry = Retry(attempts: 5, policy: policy, backoff: Backoff(base: .seconds(3)))
        for (answer, sends) in [
            (MockResponse.status(500), 5), (.status(500, headers: ["X-Final": "1"]), 1),
            (.status(503), 1),
        ] {
            let transport = MockTransport { _ in answer }
            try await Simulation(seed: 1).run { time in
                let client = Client(
                    baseURL: "http://a.example/", transport: transport, stack: [retry],
                    timeSource: time.clock)
                _ = try? await client.get("x").data()
            }
            #expect(transport.sentCount == sends)
        }
    }

    @Test("A breaker that is operated by hand")
    func byHand() async throws {
        let breaker = CircuitBreaker(
            failureRatio: 0.5, minimum: 8, window: .seconds(10), open: .seconds(30), probes: 1
        ) { $0.status == 500 || $0.code == .connection ? .failure : .success }
        let origin = Origin(scheme: "https", host: "api.example.com", port: 443)
        breaker.isolate(origin, by: "Ann")
        #expect(breaker.state(of: origin) == .open && breaker.remaining(of: origin) == nil)
        breaker.close(origin, by: "Ann")
        let client = Client(
            baseURL: "https://api.example.com/", transport: MockTransport { _ in .status(500) },
            stack: [breaker], timeSource: clock)
        for _ in 0..<7 { _ = try await client.get("x").response() }
        #expect(breaker.state(of: origin) == .closed)
        _ = try await client.get("x").response()
        #expect(breaker.state(of: origin) == .open)
        #expect(breaker.remaining(of: origin, on: clock) == .seconds(30))
    }

    @Test("A hedge within the budget of the retry")
    func hedge() {
        let budget = RetryBudget(ratio: 0.1)
        let stack: Stack = [
            .retry(attempts: 2, budget: budget),
            .hedge(after: .seconds(1), attempts: 4, budget: budget),
            .attemptTimeout(.seconds(5)),
        ]
        let transport = MockTransport([])
        let explanation = stack.explain(Request(.get, "http://a.example/"), on: transport)
        #expect(explanation.worst.sends.value == 8)
    }

    @Test("Each tenant has its own quota")
    func partitions() async throws {
        let perTenant = RateLimit([QuotaRule(100, per: .seconds(60), burst: 100)], queue: 0)
            .key { $0.headers["X-Tenant"] }
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok() },
            stack: [perTenant], timeSource: clock)
        for _ in 0..<100 { try await client.get("x").header("X-Tenant", "blue").empty() }
        await #expect(throws: ClientError.self) {
            try await client.get("x").header("X-Tenant", "blue").empty()
        }
        try await client.get("x").header("X-Tenant", "green").empty()
        clock.advance(by: .milliseconds(600))
        try await client.get("x").header("X-Tenant", "blue").empty()
    }

    @Test("A fallback, and a limit for one call")
    func fallback() async throws {
        let fallback = Fallback(when: { $0.status == 500 || $0.code == .circuitOpen }) {
            outcome, _ in
            Response(to: outcome.request, status: .ok, body: ResponseBody(Data("[]".utf8)))
        }
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .status(500) },
            stack: [fallback], timeSource: clock)
        let short = try await client.get("users/1").deadline(.seconds(3)).data()
        #expect(short == Data("[]".utf8))
    }

    @Test("A chain of resilience4j: three attempts, then the fallback")
    func chain() async throws {
        let transport = MockTransport { _ in .status(503) }
        let ported = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .fallback(status: .ok, body: Data("[]".utf8)),
                .retry(attempts: 3, backoff: .constant(.milliseconds(500))),
                .circuitBreaker(
                    failureRatio: 0.5, minimum: 10, window: .seconds(10), open: .seconds(60),
                    probes: 10),
                .rateLimit(perSecond: 10, burst: 10),
                .attemptTimeout(.seconds(1)),
                .concurrencyLimit(total: 25, perOrigin: 25, queue: 0),
            ])
        #expect(ported.fault == nil)
        try await Simulation(seed: 1).run { time in
            let client = Client(
                baseURL: "https://api.example.com/", transport: transport, stack: ported.stack,
                timeSource: time.clock)
            let text = try await client.get("users").string()
            #expect(text == "[]")
        }
        #expect(transport.sentCount == 3)
    }
}
