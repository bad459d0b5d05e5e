// SPDX-License-Identifier: Apache-2.0

import StudySupport

/// A chart of the strategies: above, the load of the server; below, the calls that succeed.
struct StudyChart: Sendable {
    private let report: StudyReport

    /// Creates a chart.
    init(_ report: StudyReport) { self.report = report }

    private static let colors = [
        "#d62728", "#ff7f0e", "#1f77b4", "#9467bd", "#2ca02c", "#111111",
    ]
    private static let fontSize = 12
    private static let width = 760
    private static let left = 56
    private static let panelHeight = 200
    private static let plotWidth = width - left - 16

    /// The chart as SVG.
    ///
    /// The same report always gives the same bytes.
    var svg: String {
        let scenario = report.scenario
        let load = report.outcomes.map { $0.requests.map { Double($0) / scenario.offered } }
        let success = report.outcomes.map { outcome in
            zip(outcome.successes, outcome.calls).map { 100 * Double($0) / Double(max($1, 1)) }
        }
        let top = max((load.flatMap(\.self).max() ?? 1).rounded(.up), 1)
        let first = 64
        let second = first + Self.panelHeight + 56
        let height = second + Self.panelHeight + 40 + 20 * report.outcomes.count
        var lines = [
            SVG.text(
                Self.left, 24, size: 16,
                "A brown-out of \(scenario.outage) s, \(scenario.clients) clients, six stacks")
        ]
        lines += panel(
            at: first, "Requests that reach the server, by the calls that begin", load, top: top,
            steps: top <= 5 ? 1 : 2, unit: "x")
        lines += panel(
            at: second, "Calls that succeed, by the second in which they begin", success, top: 100,
            steps: 25, unit: "%")
        for (index, outcome) in report.outcomes.enumerated() {
            let y = second + Self.panelHeight + 44 + 20 * index
            lines.append(
                SVG.rectangle(
                    Double(Self.left), Double(y - 9), width: 16, height: 4,
                    fill: Self.colors[index]))
            lines.append(
                SVG.text(
                    Self.left + 24, y, size: Self.fontSize,
                    "\(outcome.name): load x\(Figures.fixed(outcome.amplification)), "
                        + "recovered: \(report.recovery(of: outcome))"))
        }
        return SVG.picture(
            width: Self.width, height: height, fontSize: Self.fontSize, lines)
    }

    private func panel(
        at y: Int, _ title: String, _ series: [[Double]], top: Double, steps: Double, unit: String
    ) -> [String] {
        let scenario = report.scenario
        let bottom = y + Self.panelHeight
        let begin = x(Double(scenario.before))
        let end = x(Double(scenario.before + scenario.outage))
        var lines = [
            SVG.text(Self.left, y - 10, size: Self.fontSize, title),
            SVG.rectangle(
                begin, Double(y), width: end - begin, height: Double(Self.panelHeight),
                fill: "#eeeeee"),
        ]
        for value in stride(from: 0, through: top, by: steps) {
            let place = height(value, top, bottom)
            lines.append(SVG.level(place, from: Self.left, to: Self.left + Self.plotWidth))
            lines.append(
                SVG.text(
                    Self.left - 8, Int(place) + 4, size: Self.fontSize, "\(Int(value)) \(unit)",
                    anchor: "end"))
        }
        for second in stride(from: 0, through: scenario.seconds, by: 20) {
            lines.append(
                SVG.text(
                    Int(x(Double(second))), bottom + 16, size: Self.fontSize, "\(second) s",
                    anchor: "middle"))
        }
        for (index, values) in series.enumerated() {
            let points = values.enumerated().map { second, value in
                (x(Double(second) + 0.5), height(min(value, top), top, bottom))
            }
            lines.append(SVG.curve(points, color: Self.colors[index]))
        }
        return lines
    }

    private func x(_ second: Double) -> Double {
        Double(Self.left) + second / Double(report.scenario.seconds) * Double(Self.plotWidth)
    }

    private func height(_ value: Double, _ top: Double, _ bottom: Int) -> Double {
        Double(bottom) - value / top * Double(Self.panelHeight)
    }
}
