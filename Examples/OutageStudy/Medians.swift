// SPDX-License-Identifier: Apache-2.0

import StudySupport

/// The medians of several runs of a strategy or a rule with different seeds.
struct Medians: Sendable {
    private let outcomes: [StrategyOutcome]

    /// Creates medians.
    init(_ outcomes: [StrategyOutcome]) { self.outcomes = outcomes }

    /// The header of the tables.
    static let head = ["", "load", "during", "after", "recovered"]

    /// The medians as cells of a table.
    func cells(_ name: String) -> [String] {
        [
            name, "x" + Figures.fixed(median(\.amplification)),
            Self.percent(median(\.successDuring)), Self.percent(median(\.successAfter)), recovery,
        ]
    }

    /// The median of the time from the end of the brown-out to the recovery.
    var recovery: String {
        let recovery = median { Double($0.recovery ?? .max) }
        let longest = Double(outcomes.first?.scenario.after ?? 0)
        return recovery > longest ? "not" : "\(Self.tenths(recovery)) s"
    }

    private func median(_ value: (StrategyOutcome) -> Double) -> Double {
        Figures.median(outcomes.map(value)) ?? 0
    }

    private static func percent(_ share: Double) -> String { "\(tenths(share * 100)) %" }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
