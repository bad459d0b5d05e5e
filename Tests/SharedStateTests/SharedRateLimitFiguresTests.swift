// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("What a shared RateLimit tells a meter and a trace")
struct SharedRateLimitFiguresTests {
    /// The value of a figure; nil if there is none.
    private func value(_ name: String, _ meter: MetricsStore) -> Double? {
        meter.prometheusText.split(separator: "\n")
            .first { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "_total ") }
            .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }

    @Test("What an alert needs exists before anything happens, a fixed number of replicas too")
    func beginning() {
        let meter = MetricsStore()
        let shared = SharedState(
            FaultyStore(ManualClock(), delay: .zero), replicas: 3, meter: meter)
        #expect(value("turnpike_shared_state_replicas", meter) == 3)
        for name in ["failures", "skipped", "away"] {
            #expect(value("turnpike_shared_state_" + name, meter) == 0, "\(name)")
        }
        #expect(shared.replicas == 3)
    }

    @Test("Permits that are taken and given back are counted, and so are the failures of the store")
    func figures() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let (quota, shared) = (MetricsStore(), MetricsStore())
            let limit = SharedRateLimit(
                [QuotaRule(10_000, per: .seconds(1), burst: 1000)],
                shared: SharedState(store, meter: shared), meter: quota
            ).key { $0.headers["X-Tenant"] }
            let client = simulation.client([limit])
            let context = Context(timeSource: simulation.clock)
            func call(_ tenant: String, _ count: Int, every interval: Duration) async throws {
                for _ in 0..<count {
                    _ = try await client.get(anywhere).header("X-Tenant", tenant).response()
                    try await context.sleep(for: interval)
                }
            }
            try await call("a", 3000, every: .milliseconds(1))
            try await context.sleep(for: .seconds(1))
            let taken = value("turnpike_rate_limit_taken", quota) ?? 0
            let returned = value("turnpike_rate_limit_given_back", quota) ?? 0
            #expect(taken - returned == 3000, "\(taken) and \(returned)")
            #expect(returned > 0, "the last lease")
            #expect(value("turnpike_shared_state_replicas", shared) == 1)
            #expect(value("turnpike_shared_state_failures", shared) == 0)
            #expect(value("turnpike_rate_limit_local", quota) ?? 0 == 0)

            store.set(isAway: true)
            try await call("a", 20, every: .milliseconds(20))
            try await call("b", 20, every: .milliseconds(20))
            #expect(value("turnpike_rate_limit_local", quota) == 2)
            #expect(value("turnpike_shared_state_away", shared) == 1)
            #expect(value("turnpike_shared_state_failures", shared) ?? 0 >= 3)
            #expect(value("turnpike_shared_state_skipped", shared) ?? 0 >= 1)

            store.set(delay: .milliseconds(1))
            try await call("a", 20, every: .milliseconds(100))
            #expect(value("turnpike_shared_state_away", shared) == 0)
            #expect(
                value("turnpike_rate_limit_local", quota) == 0, "nobody uses the quota of b now")
            for meter in [quota, shared] {
                #expect(!meter.prometheusText.contains("does not describe"))
            }
        }
    }

    @Test("A trace says whether a call waited for the limit or for the end of a cool-down")
    func waits() async throws {
        try await Simulation(seed: 1).run { simulation in
            let traces = TraceStore()
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let isFirst = Countdown(1)
            let limit = SharedRateLimit(
                perSecond: 2, burst: 2, shared: SharedState(store, replicas: 1))
            let client = Client(
                transport: MockTransport { _ in
                    isFirst.takeOne() ? .status(429, headers: ["Retry-After": "5"]) : .ok()
                }, stack: Stack([limit]), serializers: SerializerTable(), trace: traces,
                timeSource: simulation.clock, randomSource: simulation.random)
            for _ in 0..<4 { _ = try await client.get(anywhere).response() }
            await client.shutdown()
            let waits = traces.traces.flatMap(\.spans).filter { $0.kind == .wait }.map(\.name)
            #expect(waits.prefix(2) == ["rate limit", "cool-down"], "\(waits)")
            #expect(waits.last == "rate limit", "\(waits)")
        }
    }
}
