// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeTesting

/// A weather, a choice and a stack.
///
/// It is run with each seed.
struct Cell: Sendable, Hashable {
    /// The weather.
    let weather: Weather
    /// The choice.
    let balancing: Balancing
    /// The stack.
    let retrying: Retrying

    /// All combinations, with the short time limit only if the weather delays answers.
    static let all = Weather.allCases.flatMap { weather in
        Balancing.allCases.flatMap { balancing in
            Retrying.allCases.compactMap { retrying in
                retrying == .prompt && !weather.delays
                    ? nil : Cell(weather: weather, balancing: balancing, retrying: retrying)
            }
        }
    }
}

/// Runs a scenario in each weather with each choice.
struct Study: Sendable {
    /// The name that the clients know.
    static let host = "service.example"
    /// The scenario.
    let scenario: Scenario

    /// Creates a study.
    init(_ scenario: Scenario) { self.scenario = scenario }

    /// Runs cells with a number of seeds, beginning with the seed of the scenario.
    ///
    /// Returns a result for each cell.
    func run(_ cells: [Cell] = Cell.all, seeds: Int) async throws -> [CellResult] {
        let jobs = cells.indices.flatMap { cell in (0..<seeds).map { (cell, $0) } }
        var outcomes: [[RunOutcome?]] = cells.map { _ in Array(repeating: nil, count: seeds) }
        try await withThrowingTaskGroup(of: (Int, Int, RunOutcome).self) { group in
            var rest = jobs[...]
            func addNext() {
                guard let (cell, seed) = rest.popFirst() else { return }
                group.addTask { (cell, seed, try await run(cells[cell], seed: UInt64(seed))) }
            }
            // Each run has its own thread.
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { addNext() }
            while let (cell, seed, outcome) = try await group.next() {
                outcomes[cell][seed] = outcome
                addNext()
            }
        }
        return zip(cells, outcomes).map { CellResult(cell: $0, runs: $1.compactMap(\.self)) }
    }

    /// Runs one cell with a seed, which is added to that of the scenario.
    func run(_ cell: Cell, seed: UInt64) async throws -> RunOutcome {
        var scenario = scenario
        scenario.seed &+= seed
        let fleet = Fleet(cell.weather, scenario)
        let ledger = Ledger()
        try await Simulation(seed: scenario.seed).run { [scenario] simulation in
            await withTaskGroup { group in
                for number in 0..<scenario.clients {
                    group.addTask {
                        await Self.runClient(number, cell, fleet, ledger, simulation.clock)
                    }
                }
            }
        }
        return RunOutcome(
            ledger.calls, arrivals: fleet.arrivals, cell.weather.affected(in: scenario), scenario)
    }

    // Begins calls at its own pace, because users do not wait for the outcomes of others.
    private static func runClient(
        _ number: Int, _ cell: Cell, _ fleet: Fleet, _ ledger: Ledger, _ clock: SimulationClock
    ) async {
        let scenario = fleet.scenario
        let seed = scenario.seed &* 1_000_003 &+ UInt64(number)
        var chance = SeededGenerator(seed: seed)
        let random = SeededRandomSource(seed: seed)
        let client = Client(
            transport: FleetTransport(fleet, client: number),
            stack: cell.balancing.stack(cell.retrying, fleet), timeSource: clock,
            randomSource: random)
        let context = Context(timeSource: clock, randomSource: random)
        await withDiscardingTaskGroup { group in
            while true {
                // The pauses of a Poisson process.
                let pause = -log(1 - chance.unit()) / scenario.callsPerSecond
                // No task cancels it.
                try? await context.sleep(for: .seconds(pause))
                let begin = Double(clock.now.nanoseconds) / 1e9
                if begin >= Double(scenario.seconds) { break }
                group.addTask {
                    let response = try? await client.get("http://\(host)/").response()
                    let end = Double(clock.now.nanoseconds) / 1e9
                    ledger.add(
                        CallOutcome(
                            begin: begin, duration: end - begin, hasSucceeded: response != nil))
                }
            }
        }
        await client.shutdown()
    }
}

/// The outcome of a call.
struct CallOutcome: Sendable, Hashable {
    /// The second at which the call began.
    let begin: Double
    /// How many seconds the call took.
    let duration: Double
    /// Whether the call returned a response with a successful status.
    let hasSucceeded: Bool
}

/// Collects the outcomes of calls.
private final class Ledger: Sendable {
    private let state = Mutex<[CallOutcome]>([])

    var calls: [CallOutcome] { state.withLock { $0 } }

    func add(_ call: CallOutcome) { state.withLock { $0.append(call) } }
}
