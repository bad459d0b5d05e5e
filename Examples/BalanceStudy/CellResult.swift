// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike

/// The outcomes of a cell with all seeds.
struct CellResult: Sendable {
    /// The weather, the choice and the stack.
    let cell: Cell
    /// The outcomes, one for each seed.
    let runs: [RunOutcome]

    /// Creates a result.
    init(cell: Cell, runs: [RunOutcome]) {
        self.cell = cell
        self.runs = runs
    }

    /// The median of a figure over the seeds; nil if no run has the figure.
    func median(_ figure: (RunOutcome) -> Double?) -> Double? {
        Figures.median(runs.compactMap(figure))
    }

    /// The median of the 99th percentiles, in seconds.
    var p99: Double { median(\.p99) ?? 0 }

    /// The median of the share of failed calls.
    var failed: Double { median { Double($0.failures) / Double(max($0.calls, 1)) } ?? 0 }

    /// The median of the share of failed calls, from five seconds after the weather began.
    var failedAfter5: Double { median(\.failedAfter5) ?? 0 }

    /// The calls of each second, added up over all seeds.
    var seconds: [SecondOutcome] {
        guard var sum = runs.first?.seconds else { return [] }
        for run in runs.dropFirst() {
            for index in sum.indices { sum[index].add(run.seconds[index]) }
        }
        return sum
    }

    /// The result as JSON.
    var json: JSONValue {
        func number(_ value: Double?) -> JSONValue {
            value.flatMap { JSONNumber(($0 * 10_000).rounded() / 10_000) }.map(JSONValue.number)
                ?? nil
        }
        func sum(_ figure: (RunOutcome) -> Int) -> JSONValue {
            .number(JSONNumber(runs.map(figure).reduce(0, +)))
        }
        return [
            "weather": .string(cell.weather.rawValue),
            "choice": .string(cell.balancing.rawValue), "stack": .string(cell.retrying.rawValue),
            "calls": sum(\.calls), "failures": sum(\.failures),
            "failuresAfter2Seconds": sum(\.failuresAfter2), "failed": number(failed),
            "failedAfter5Seconds": number(failedAfter5),
            "medianSeconds": number(median(\.median)), "p99Seconds": number(p99),
            "affectedShare": number(median(\.affectedShare)),
        ]
    }
}
