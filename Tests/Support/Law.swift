// SPDX-License-Identifier: Apache-2.0

import Foundation
package import Testing
import TurnpikeCore

/// Chance for one run of a law.
package struct Dice {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package mutating func roll(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    package mutating func chance(_ part: Double) -> Bool {
        Double.random(in: 0..<1, using: &generator) < part
    }

    package mutating func one<Choices: Collection>(of choices: Choices) -> Choices.Element {
        choices[choices.index(choices.startIndex, offsetBy: roll(0...(choices.count - 1)))]
    }
}

/// How often a law is tried, and the seeds of the runs.
///
/// Some dozens of times in the short run; `scripts/check` sets `TURNPIKE_LAW_RUNS` higher.
package enum Law {
    package static let runs: Range<UInt64> =
        0..<(ProcessInfo.processInfo.environment["TURNPIKE_LAW_RUNS"].flatMap { UInt64($0) }
        ?? Runs.size(60, all: 300))

    package static func seed(_ run: UInt64) -> UInt64 { 0x7475_726E_7069_6B65 &+ run }

    /// Records an issue with the run's seed where a condition does not hold; cheaper than `#expect`
    /// for millions of them.
    package static func holds(
        _ condition: Bool, _ run: UInt64, _ what: @autoclosure () -> String = "the law",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if condition { return }
        Issue.record(
            "seed \(seed(run)): \(what()) does not hold", sourceLocation: sourceLocation)
    }
}
