// SPDX-License-Identifier: Apache-2.0

import StudySupport

/// A bound that the study checks the library against, and the measured value.
struct StudyBound: Sendable, Hashable, CustomStringConvertible {
    /// What is measured.
    let name: String
    /// The measured value.
    let found: Double
    /// The largest allowed value.
    let limit: Double
    /// A remark for the report.
    var remark = ""

    /// Whether the bound holds.
    var holds: Bool { found <= limit }

    /// One line for the report.
    var description: String {
        let verdict = holds ? "holds" : "DOES NOT HOLD"
        let text = "\(name): \(Self.text(found)), at most \(Self.text(limit)): \(verdict)"
        return remark.isEmpty ? text : "\(text) (\(remark))"
    }

    private static func text(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : Figures.fixed(value)
    }
}

extension StudyReport {
    /// The bounds whose cells were run.
    var bounds: [StudyBound] {
        var bounds: [StudyBound] = []
        if let ratio = slowdown(.peakEWMA) {
            let other = slowdown(.roundRobin).map { "roundRobin: \(Figures.fixed($0))" } ?? ""
            bounds.append(
                StudyBound(
                    name: "one slow: p99 of peakEWMA, in times that of all well", found: ratio,
                    limit: 1.5, remark: other))
        }
        for balancing in Balancing.allCases where balancing != .none {
            let name = balancing.rawValue
            if let hole = result(.blackHole, balancing, .none) {
                bounds.append(
                    StudyBound(
                        name: "black hole, \(name), no retry: percent failed after 5 s",
                        found: hole.failedAfter5 * 100, limit: 2))
            }
            if let restart = result(.restart, balancing, .standard) {
                bounds.append(
                    StudyBound(
                        name: "rolling restart, \(name), standard stack: failed",
                        found: restart.median { Double($0.failures) } ?? 0, limit: 0,
                        remark: Self.sum(restart, \.failures)))
            }
            if let lost = result(.zoneLost, balancing, .standard) {
                bounds.append(
                    StudyBound(
                        name: "zone lost, \(name), standard stack: failed after 2 s",
                        found: lost.median { Double($0.failuresAfter2) } ?? 0, limit: 0,
                        remark: Self.sum(lost, \.failuresAfter2)))
            }
        }
        return bounds
    }

    private static func sum(_ result: CellResult, _ figure: (RunOutcome) -> Int) -> String {
        "all seeds together: \(result.runs.map(figure).reduce(0, +))"
    }

    private func slowdown(_ balancing: Balancing) -> Double? {
        guard let slow = result(.slow, balancing, .none),
            let well = result(.well, balancing, .none), well.p99 > 0
        else { return nil }
        return slow.p99 / well.p99
    }
}
