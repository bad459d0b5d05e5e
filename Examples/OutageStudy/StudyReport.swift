// SPDX-License-Identifier: Apache-2.0

import StudySupport
import TurnpikeCore

/// The outcomes of all strategies, side by side.
struct StudyReport: Sendable {
    /// The scenario.
    let scenario: Scenario
    /// The outcomes, one for each strategy.
    let outcomes: [StrategyOutcome]

    /// Creates a report.
    init(scenario: Scenario, outcomes: [StrategyOutcome]) {
        self.scenario = scenario
        self.outcomes = outcomes
    }

    /// The report as a table for a terminal.
    var table: String {
        let rows = outcomes.map { outcome in
            [
                outcome.name, "x" + Figures.fixed(outcome.amplification),
                "x" + Figures.fixed(outcome.peak), Figures.percent(outcome.successDuring),
                Figures.percent(outcome.successAfter), recovery(of: outcome),
            ]
        }
        let head = ["stack", "load", "peak", "during", "after", "recovered"]
        return """
            \(scenario.clients) clients, \(Int(scenario.offered)) calls a second; the server bears \
            \(Int(scenario.capacity)) requests a second, and \(Int(scenario.brownCapacity)) for \
            \(scenario.outage) s

            \(Self.aligned([head] + rows))

            load: requests for each call during the brown-out; peak: the most in a second, by the
            calls; during, after: calls that succeed; recovered: from the brown-out's end until 95 of
            100 calls succeed
            """
    }

    /// Returns rows of cells as aligned lines.
    ///
    /// The first column is text; the others are figures.
    static func aligned(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, text in
                let blanks = String(repeating: " ", count: widths[column] - text.count)
                return column == 0 ? text + blanks : blanks + text
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    func recovery(of outcome: StrategyOutcome) -> String {
        outcome.recovery.map { "\($0) s" } ?? "not in \(scenario.after) s"
    }

    /// The report as JSON.
    var json: JSONValue {
        [
            "seed": .number(JSONNumber(scenario.seed)),
            "clients": .number(JSONNumber(scenario.clients)),
            "outageSeconds": .number(JSONNumber(scenario.outage)),
            "strategies": .array(outcomes.map(\.json)),
        ]
    }
}
