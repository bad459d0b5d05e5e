// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

/// Runs a scenario with each way to keep the quota.
struct Study: Sendable {
    /// The scenario that is simulated.
    let scenario: Scenario

    /// Creates a study.
    init(_ scenario: Scenario) { self.scenario = scenario }

    /// Runs the study.
    func run(_ limitings: [Limiting] = Limiting.allCases) async throws -> [StudyResult] {
        var results: [StudyResult] = []
        for limiting in limitings { results.append(try await run(limiting)) }
        return results
    }

    private func run(_ limiting: Limiting) async throws -> StudyResult {
        try await Simulation(seed: scenario.seed).run { [scenario] simulation in
            let account = Account(scenario, clock: simulation.clock)
            let store = FaultySharedStore(
                MemorySharedStore(timeSource: simulation.clock), seed: scenario.seed,
                timeSource: simulation.clock,
                latency: .logNormal(median: .milliseconds(1), p99: .milliseconds(8)),
                outages: limiting == .outage
                    ? [
                        .init(
                            after: .seconds(scenario.outage.lowerBound),
                            for: .seconds(scenario.outage.count), .silence)
                    ] : [])
            let outcome = Outcome()
            await withTaskGroup { group in
                for replica in 0..<scenario.replicas {
                    let client = Self.client(
                        limiting, store, account, simulation, scenario, replica)
                    group.addTask {
                        await Self.load(client, replica, simulation, scenario, outcome)
                    }
                }
            }
            return StudyResult(
                limiting: limiting, scenario: scenario, arrivals: account.arrivals,
                refusals: account.refusals, unsent: outcome.unsent, calls: outcome.calls)
        }
    }

    private static func client(
        _ limiting: Limiting, _ store: FaultySharedStore, _ account: Account,
        _ simulation: Simulation, _ scenario: Scenario, _ replica: Int
    ) -> Client {
        let part = limiting == .part ? Double(scenario.replicas) : 1
        let perSecond = scenario.quota / part
        let burst = max(Int(Double(scenario.burst) / part), 1)
        let limit: any Gate =
            limiting.isShared
            ? SharedRateLimit(
                perSecond: perSecond, burst: burst,
                shared: SharedState(store, replica: "\(replica)"))
            : RateLimit(perSecond: perSecond, burst: burst)
        return Client(
            transport: account.transport, stack: [.deadline(scenario.patience), limit],
            serializers: SerializerTable(), timeSource: simulation.clock,
            randomSource: SeededRandomSource(seed: scenario.seed << 8 | UInt64(replica)))
    }

    // Begins calls at random times, as independent callers do.
    private static func load(
        _ client: Client, _ replica: Int, _ simulation: Simulation, _ scenario: Scenario,
        _ outcome: Outcome
    ) async {
        var generator = SeededGenerator(seed: scenario.seed << 16 | UInt64(replica))
        let rate = scenario.rate(of: replica)
        let gap = MockLatency.exponential(mean: .seconds(1 / rate))
        await withDiscardingTaskGroup { group in
            while true {
                await pause(gap.at(share: generator.unit()), simulation.clock)
                guard simulation.elapsed < .seconds(scenario.seconds) else { return }
                group.addTask {
                    do {
                        _ = try await client.get("http://api.example/").response()
                        outcome.add(isSent: true)
                    } catch {
                        outcome.add(isSent: false)
                    }
                }
            }
        }
    }

    private static func pause(_ duration: Duration, _ clock: SimulationClock) async {
        await withCheckedContinuation { continuation in
            _ = clock.schedule(after: duration) { continuation.resume() }
        }
    }
}

/// How the calls of all replicas ended.
private final class Outcome: Sendable {
    private let state = Mutex((calls: 0, unsent: 0))
    var calls: Int { state.withLock { $0.calls } }
    var unsent: Int { state.withLock { $0.unsent } }

    func add(isSent: Bool) {
        state.withLock { state in
            state.calls += 1
            if !isSent { state.unsent += 1 }
        }
    }
}
