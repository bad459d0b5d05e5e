// SPDX-License-Identifier: Apache-2.0

import Foundation
import StudySupport

/// A chart with a row for each weather, for the stack without retry.
///
/// The left column shows the tail latency, and the right one the failed calls.
struct StudyChart: Sendable {
    private let report: StudyReport

    /// Creates a chart.
    init(_ report: StudyReport) { self.report = report }

    private static let colors = ["#d62728", "#ff7f0e", "#1f77b4", "#2ca02c"]
    private static let width = 760
    private static let left = 64
    private static let gap = 64
    private static let panelWidth = (width - left - gap - 16) / 2
    private static let panelHeight = 84
    private static let rowHeight = 128
    private static let first = 96
    // Seconds, on a logarithmic scale.
    private static let latencies = (low: 0.02, high: 20.0, lines: [0.1, 1, 10])
    private static let mostFailed = 0.4

    /// The chart as SVG.
    ///
    /// The same report always gives the same bytes.
    var svg: String {
        let rows = Weather.allCases.count
        let height = Self.first + rows * Self.rowHeight + 4
        var lines = [
            SVG.text(
                Self.left, 24, size: 16,
                "\(report.scenario.clients) clients, \(report.scenario.endpoints) endpoints, "
                    + "no retry: what the choice alone does")
        ]
        for (index, balancing) in Balancing.allCases.enumerated() {
            let x = Self.left + 160 * index
            lines.append(
                SVG.rectangle(Double(x), 40, width: 16, height: 4, fill: Self.colors[index]))
            lines.append(SVG.text(x + 24, 46, balancing.rawValue))
        }
        lines.append(SVG.text(Self.left, 72, "p99 of the time of a call", weight: "bold"))
        lines.append(SVG.text(right, 72, "calls that fail", weight: "bold"))
        for (row, weather) in Weather.allCases.enumerated() {
            lines += panels(of: weather, at: Self.first + row * Self.rowHeight)
        }
        return SVG.picture(width: Self.width, height: height, fontSize: 11, lines)
    }

    private var right: Int { Self.left + Self.panelWidth + Self.gap }

    private func panels(of weather: Weather, at y: Int) -> [String] {
        let series = Balancing.allCases.map { report.result(weather, $0, .none)?.seconds ?? [] }
        var lines = [SVG.text(Self.left, y - 6, weather.rawValue)]
        lines += axes(
            left: Self.left, y,
            Self.latencies.lines.map { seconds in
                let name = seconds < 1 ? "\(Int(seconds * 1000)) ms" : "\(Int(seconds)) s"
                return (name, level(seconds))
            })
        lines += axes(
            left: right, y, [0, 0.2, 0.4].map { ("\(Int($0 * 100)) %", $0 / Self.mostFailed) })
        for (index, seconds) in series.enumerated() {
            let p99 = seconds.enumerated().compactMap { second, outcome in
                outcome.p99.map { (second, level($0)) }
            }
            lines.append(line(p99, left: Self.left, y, Self.colors[index]))
            let failed = seconds.enumerated().map { second, outcome in
                let share = Double(outcome.failures) / Double(max(outcome.calls, 1))
                return (second, share / Self.mostFailed)
            }
            lines.append(line(failed, left: right, y, Self.colors[index]))
        }
        return lines
    }

    private func axes(left: Int, _ y: Int, _ ticks: [(String, Double)]) -> [String] {
        let begin = x(report.scenario.before, left)
        let end = x(report.scenario.seconds, left)
        var lines = [
            SVG.rectangle(
                begin, Double(y), width: end - begin, height: Double(Self.panelHeight),
                fill: "#f3f3f3")
        ]
        for (name, level) in ticks {
            let place = height(level, y)
            lines.append(SVG.level(place, from: left, to: left + Self.panelWidth))
            lines.append(SVG.text(left - 6, Int(place) + 4, name, anchor: "end"))
        }
        for second in stride(from: 0, through: report.scenario.seconds, by: 20) {
            lines.append(
                SVG.text(
                    Int(x(second, left)), y + Self.panelHeight + 14, "\(second) s", anchor: "middle"
                ))
        }
        return lines
    }

    private func line(
        _ points: [(Int, Double)], left: Int, _ y: Int, _ color: String
    ) -> String {
        let half = Double(Self.panelWidth) / Double(2 * report.scenario.seconds)
        let places = points.map { second, level in
            (x(second, left) + half, height(min(max(level, 0), 1), y))
        }
        return SVG.curve(places, color: color)
    }

    // From 0 at the lowest latency to 1 at the highest one.
    private func level(_ seconds: Double) -> Double {
        log(seconds / Self.latencies.low) / log(Self.latencies.high / Self.latencies.low)
    }

    private func x(_ second: Int, _ left: Int) -> Double {
        Double(left) + Double(second * Self.panelWidth) / Double(report.scenario.seconds)
    }

    private func height(_ level: Double, _ y: Int) -> Double {
        Double(y + Self.panelHeight) - level * Double(Self.panelHeight)
    }
}
