// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike
import TurnpikeCore

/// The figures of a study, as a table and as JSON.
struct StudyReport: Sendable {
    /// The scenario that was simulated.
    let scenario: Scenario
    /// A result for each way to keep the quota.
    let results: [StudyResult]

    /// A table in Markdown.
    var table: String {
        let head = [
            "| limits | used | most in a second | refused by the server | not sent | used in the outage"
                + " | used after it |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        let rows = results.map { result in
            let isAway = result.limiting == .outage
            let cells = [
                result.limiting.rawValue, Figures.percent(result.used), "\(result.most)",
                "\(result.refusals)",
                Figures.percent(Double(result.unsent) / Double(max(result.calls, 1))),
                isAway ? Figures.percent(result.usedInOutage) : "",
                isAway ? Figures.percent(result.usedAfterOutage) : "",
            ]
            return "| " + cells.joined(separator: " | ") + " |"
        }
        return (head + rows).joined(separator: "\n")
    }

    /// All figures.
    var json: JSONValue {
        .array(
            results.map { result in
                [
                    "limits": .string(result.limiting.rawValue),
                    "used": JSONNumber(result.used).map { .number($0) } ?? .null,
                    "most": .number(JSONNumber(result.most)),
                    "refused": .number(JSONNumber(result.refusals)),
                    "unsent": .number(JSONNumber(result.unsent)),
                    "calls": .number(JSONNumber(result.calls)),
                    "perSecond": .array(result.perSecond.map { .number(JSONNumber($0)) }),
                ]
            })
    }
}
