// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike

/// The results of all cells, side by side.
struct StudyReport: Sendable {
    /// The scenario.
    let scenario: Scenario
    /// The number of seeds.
    let seeds: Int
    /// The results.
    let results: [CellResult]

    /// Creates a report.
    init(scenario: Scenario, seeds: Int, results: [CellResult]) {
        self.scenario = scenario
        self.seeds = seeds
        self.results = results
    }

    /// Returns the result of a cell; nil if it was not run.
    func result(_ weather: Weather, _ balancing: Balancing, _ retrying: Retrying) -> CellResult? {
        results.first {
            $0.cell == Cell(weather: weather, balancing: balancing, retrying: retrying)
        }
    }

    /// The report as Markdown tables that are aligned for a terminal.
    var table: String {
        """
        \(scenario.clients) clients, \(scenario.endpoints) endpoints, \
        \(Int(Double(scenario.clients) * scenario.callsPerSecond)) calls a second, \
        \(scenario.weather) s of weather; medians of \(seeds) \(seeds == 1 ? "seed" : "seeds")

        \(mainTable)

        p50, p99: of all calls, failed ones with the time they took; after 5 s: failed calls, from
        5 s after the weather began; affected: requests that went to the affected endpoints;
        retry: the standard stack, and without that word the same stack without retry

        The standard stack with attempts of 1 s instead of 10 s:

        \(promptTable)

        \(bounds.map(\.description).joined(separator: "\n"))
        """
    }

    private var mainTable: String {
        let head = [
            "weather", "choice", "p50", "p99", "failed", "after 5 s", "affected", "p99, retry",
            "failed, retry",
        ]
        let rows = rows { weather, balancing in
            guard let bare = result(weather, balancing, .none),
                let standard = result(weather, balancing, .standard)
            else { return nil }
            return [
                Self.milliseconds(bare.median(\.median) ?? 0), Self.milliseconds(bare.p99),
                Self.percent(bare.failed), Self.percent(bare.failedAfter5),
                bare.median(\.affectedShare).map(Self.percent) ?? "",
                Self.milliseconds(standard.p99), Self.percent(standard.failed),
            ]
        }
        return Self.markdown(head, rows)
    }

    private var promptTable: String {
        let rows = rows { weather, balancing in
            result(weather, balancing, .prompt).map {
                [Self.milliseconds($0.p99), Self.percent($0.failed)]
            }
        }
        return Self.markdown(["weather", "choice", "p99, retry", "failed, retry"], rows)
    }

    // Only the first row of a weather has its name.
    private func rows(_ figures: (Weather, Balancing) -> [String]?) -> [[String]] {
        Weather.allCases.flatMap { weather in
            Balancing.allCases.compactMap { balancing in
                figures(weather, balancing).map {
                    [balancing == .none ? weather.rawValue : "", balancing.rawValue] + $0
                }
            }
        }
    }

    /// The report as JSON.
    var json: JSONValue {
        [
            "firstSeed": .number(JSONNumber(scenario.seed)), "seeds": .number(JSONNumber(seeds)),
            "clients": .number(JSONNumber(scenario.clients)),
            "endpoints": .number(JSONNumber(scenario.endpoints)),
            "bounds": .array(bounds.map { .string($0.description) }),
            "cells": .array(results.map(\.json)),
        ]
    }

    private static func markdown(_ head: [String], _ rows: [[String]]) -> String {
        let widths = head.indices.map { column in
            ([head] + rows).map { $0[column].count }.max() ?? 0
        }
        func line(_ cells: [String], _ blank: Character = " ") -> String {
            let padded = cells.enumerated().map { column, text in
                let blanks = String(repeating: blank, count: widths[column] - text.count)
                return column < 2 ? text + blanks : blanks + text
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = head.indices.map { $0 < 2 ? "---" : "--:" }
        return ([line(head), line(rule, "-")] + rows.map { line($0) }).joined(separator: "\n")
    }

    /// Returns a share in percent, with at most two decimals.
    static func percent(_ share: Double) -> String {
        if share == 0 { return "0 %" }
        let hundredths = Int((share * 10_000).rounded())
        if hundredths == 0 { return "<0.01 %" }
        return hundredths < 1000
            ? "\(Figures.fixed(Double(hundredths) / 100)) %" : "\((hundredths + 50) / 100) %"
    }

    /// Returns a time in milliseconds, or in seconds from ten seconds on.
    static func milliseconds(_ seconds: Double) -> String {
        seconds < 10 ? "\(Int((seconds * 1000).rounded())) ms" : "\(Figures.fixed(seconds)) s"
    }
}
