// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeTesting

/// Runs a scenario with each strategy.
struct Study: Sendable {
    /// The scenario.
    let scenario: Scenario

    /// Creates a study.
    init(_ scenario: Scenario) { self.scenario = scenario }

    /// Runs all strategies and returns their outcomes in order.
    func run() async throws -> [StrategyOutcome] {
        var outcomes: [StrategyOutcome] = []
        for strategy in Strategy.allCases { outcomes.append(try await run(strategy)) }
        return outcomes
    }

    /// Runs one strategy and returns its outcome.
    func run(_ strategy: Strategy) async throws -> StrategyOutcome {
        let stack = strategy.stacks()
        return try await run(strategy.rawValue) { _ in each(stack) }
    }

    /// Runs one admission rule.
    ///
    /// Each client has its own state, or all share one.
    func run(_ contender: Contender, isShared: Bool) async throws -> StrategyOutcome {
        let shared = isShared ? contender.gate() : nil
        return try await run(contender.name) { _ in
            each { Strategy.stack(Strategy.retryInBudget, shared ?? contender.gate()) }
        }
    }

    private func each(_ stack: () -> Stack) -> [Stack] {
        (0..<scenario.clients).map { _ in stack() }
    }

    /// Runs the clients, which take the stacks in turns.
    func run(
        _ name: String, _ stacks: @escaping @Sendable (SimulationClock) -> [Stack]
    ) async throws -> StrategyOutcome {
        let scenario = scenario
        let ledger = Ledger(seconds: scenario.seconds)
        let server = BrownoutServer(scenario)
        try await Simulation(seed: scenario.seed).run { simulation in
            let stacks = stacks(simulation.clock)
            await withTaskGroup { group in
                for number in 0..<scenario.clients {
                    group.addTask {
                        await Self.runClient(
                            number, stacks[number % stacks.count], scenario, server, ledger,
                            simulation.clock)
                    }
                }
            }
        }
        let (begun, succeeded) = ledger.calls
        return StrategyOutcome(
            name: name, scenario: scenario, requests: server.arrivals, calls: begun,
            successes: succeeded)
    }

    // Begins calls at its own pace, because users do not wait for the outcomes of others.
    private static func runClient(
        _ number: Int, _ stack: Stack, _ scenario: Scenario, _ server: BrownoutServer,
        _ ledger: Ledger, _ clock: SimulationClock
    ) async {
        let seed = scenario.seed &* 1_000_003 &+ UInt64(number)
        var chance = SeededGenerator(seed: seed)
        let random = SeededRandomSource(seed: seed)
        let client = Client(
            transport: server, stack: stack, timeSource: clock, randomSource: random)
        let context = Context(timeSource: clock, randomSource: random)
        await withDiscardingTaskGroup { group in
            while true {
                let pause = Double.random(in: 0..<2, using: &chance) / scenario.callsPerSecond
                // No task cancels it.
                try? await context.sleep(for: .seconds(pause))
                let second = Int(clock.now.nanoseconds / 1_000_000_000)
                if second >= scenario.seconds { return }
                ledger.begin(in: second)
                group.addTask {
                    let response = try? await client.get("https://service.example/").response()
                    if response != nil { ledger.succeed(in: second) }
                }
            }
        }
    }
}

/// Counts calls by the second in which they began.
private final class Ledger: Sendable {
    private struct State {
        var begun: [Int]
        var succeeded: [Int]
    }

    private let state: Mutex<State>

    init(seconds: Int) {
        let zeros = Array(repeating: 0, count: seconds)
        state = Mutex(State(begun: zeros, succeeded: zeros))
    }

    var calls: (begun: [Int], succeeded: [Int]) {
        state.withLock { ($0.begun, $0.succeeded) }
    }

    func begin(in second: Int) { state.withLock { $0.begun[second] += 1 } }
    func succeed(in second: Int) { state.withLock { $0.succeeded[second] += 1 } }
}
