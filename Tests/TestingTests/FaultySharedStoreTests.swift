// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeSharedState
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeTraffic

@Suite("A store of shared state with faults")
struct FaultySharedStoreTests {
    let rules = [QuotaRule(1, per: .seconds(3600), burst: 100_000)]

    // Takes permits one after another, and describes each outcome.
    private func outcomes(
        seed: UInt64,
        _ make: @escaping @Sendable (MemorySharedStore, Simulation) -> FaultySharedStore
    ) async throws -> [String] {
        try await Simulation(seed: seed).run { [rules] simulation in
            let store = make(MemorySharedStore(timeSource: simulation.clock), simulation)
            var outcomes: [String] = []
            for _ in 0..<400 {
                let begin = simulation.elapsed
                do {
                    _ = try await store.take(QuotaRequest(key: "a", rules: rules))
                    outcomes.append("granted after \(simulation.elapsed - begin)")
                } catch let error as ClientError {
                    outcomes.append("\(error.code) after \(simulation.elapsed - begin)")
                    // So that time passes for one that is refused at once.
                    let moment = OneShot<Void>()
                    if simulation.elapsed == begin {
                        _ = simulation.clock.schedule(after: .milliseconds(10)) {
                            moment.settle(.success(()))
                        }
                        try await moment.value {}
                    }
                }
            }
            return outcomes
        }
    }

    @Test("Equal seeds produce equal faults, other seeds others")
    func seeds() async throws {
        func run(_ seed: UInt64) async throws -> [String] {
            try await outcomes(seed: 1) {
                FaultySharedStore(
                    $0, seed: seed, timeSource: $1.clock,
                    latency: .uniform(.milliseconds(1)...(.milliseconds(50))), losses: 0.1,
                    errors: 0.1)
            }
        }
        let first = try await run(7)
        #expect(try await run(7) == first)
        #expect(try await run(8) != first)
        let lost = first.filter { $0.hasPrefix("idleTimeout") }.count
        let refused = first.filter { $0.hasPrefix("connection") }.count
        #expect((20...60).contains(lost) && (20...60).contains(refused), "\(lost) \(refused)")
    }

    @Test("Half of what is lost takes effect, and no error does")
    func effects() async throws {
        try await Simulation(seed: 1).run { [rules] simulation in
            let memory = MemorySharedStore(timeSource: simulation.clock)
            let store = FaultySharedStore(
                memory, seed: 3, timeSource: simulation.clock, losses: 1, patience: .milliseconds(1)
            )
            for _ in 0..<400 { _ = try? await store.take(QuotaRequest(key: "a", rules: rules)) }
            let taken = 100_000 - (memory.permitsLeft(of: "a", rules: rules) ?? 0)
            #expect((150...250).contains(taken), "\(taken)")
            #expect(store.operationCount == 400 && store.failureCount == 400)
            let failing = FaultySharedStore(
                memory, seed: 3, timeSource: simulation.clock, errors: 1)
            for _ in 0..<400 { _ = try? await failing.take(QuotaRequest(key: "b", rules: rules)) }
            #expect(memory.permitsLeft(of: "b", rules: rules) == 100_000)
        }
    }

    @Test("An outage refuses or is silent, and ends")
    func outages() async throws {
        let kinds: [FaultySharedStore.Outage.Kind] = [.refusal, .silence]
        for kind in kinds {
            let outcomes = try await outcomes(seed: 1) {
                FaultySharedStore(
                    $0, seed: 1, timeSource: $1.clock, latency: .constant(.milliseconds(10)),
                    outages: [.init(after: .seconds(1), for: .seconds(1), kind)],
                    patience: .milliseconds(100))
            }
            let failures = outcomes.enumerated().filter { !$0.element.hasPrefix("granted") }
            // The answer of the hundredth comes when the store is away.
            #expect(failures.first?.offset == 99)
            #expect(outcomes.last == "granted after 0.01 seconds")
            if kind == .silence {
                #expect(failures.count == 10)
                #expect(
                    failures.dropFirst().allSatisfy {
                        $0.element == "idleTimeout after 0.1 seconds"
                    })
            } else {
                #expect((90...110).contains(failures.count), "\(failures.count)")
            }
        }
    }

    @Test("An outage can be begun and ended by hand")
    func byHand() async throws {
        let clock = ManualClock()
        let store = FaultySharedStore(MemorySharedStore(), seed: 1, timeSource: clock)
        store.setOutage(.refusal)
        await expectError(.connection) { try await store.token("a") }
        store.setOutage(nil)
        #expect(try await store.token("a") == nil)
        store.setOutage(.silence)
        let task = Task { try await store.token("a") }
        try await clock.waitForTimers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.timerCount == 0)
    }

    @Test("Without faults it meets every requirement", arguments: SharedStoreConformance.checks)
    func conforms(_ check: SharedStoreConformance.Check) async throws {
        let store = FaultySharedStore(
            MemorySharedStore(), seed: 1, timeSource: SystemTimeSource(),
            latency: .constant(.microseconds(100)))
        try await check.run(on: [store])
    }
}
