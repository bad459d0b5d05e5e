// SPDX-License-Identifier: Apache-2.0

import StudySupport

/// A chart with a panel for each way to keep the quota: the requests that arrived in each second.
struct StudyChart: Sendable {
    private let report: StudyReport

    /// Creates a chart.
    init(_ report: StudyReport) { self.report = report }

    private static let width = 760
    private static let left = 56
    private static let panelWidth = width - left - 120
    private static let panelHeight = 90
    private static let rowHeight = 140
    private static let first = 76

    private var scenario: Scenario { report.scenario }
    // Requests per second at the top of a panel.
    private var highest: Double { scenario.quota * 2.5 }

    /// The chart as SVG.
    ///
    /// The same report always gives the same bytes.
    var svg: String {
        let height = Self.first + report.results.count * Self.rowHeight
        var lines = [
            SVG.text(
                Self.left, 24, size: 16,
                "\(scenario.replicas) replicas, one quota of \(Int(scenario.quota)) requests a second"
            ),
            SVG.text(Self.left, 44, "requests that arrive in each second; the line is the quota"),
        ]
        for (row, result) in report.results.enumerated() {
            lines += panel(of: result, at: Self.first + row * Self.rowHeight)
        }
        return SVG.picture(width: Self.width, height: height, fontSize: 11, lines)
    }

    private func panel(of result: StudyResult, at y: Int) -> [String] {
        let bottom = y + Self.panelHeight
        var lines = [SVG.text(Self.left, y - 6, result.limiting.rawValue, weight: "bold")]
        if result.limiting == .outage {
            let (begin, end) = (x(scenario.outage.lowerBound), x(scenario.outage.upperBound))
            lines.append(
                SVG.rectangle(
                    begin, Double(y), width: end - begin, height: Double(Self.panelHeight),
                    fill: "#eeeeee"))
        }
        for (second, count) in result.perSecond.enumerated() {
            let top = self.height(Double(count), y)
            let color =
                Double(count) > scenario.quota + Double(scenario.burst) ? "#d62728" : "#1f77b4"
            lines.append(
                SVG.rectangle(
                    x(second) + 1, top, width: x(1) - x(0) - 2, height: Double(bottom) - top,
                    fill: color))
        }
        lines.append(
            SVG.level(
                height(scenario.quota, y), from: Self.left, to: Self.left + Self.panelWidth,
                color: "black", width: 1))
        for tick in [0, scenario.quota, scenario.quota * 2] {
            lines.append(
                SVG.text(Self.left - 6, Int(height(tick, y)) + 4, "\(Int(tick))", anchor: "end"))
        }
        for second in stride(from: 0, through: scenario.seconds, by: 10) {
            lines.append(SVG.text(Int(x(second)), bottom + 14, "\(second) s", anchor: "middle"))
        }
        let used = Int((result.used * 100).rounded())
        lines.append(SVG.text(Self.left + Self.panelWidth + 12, y + 20, "\(used) % used"))
        if result.refusals > 0 {
            lines.append(
                SVG.text(Self.left + Self.panelWidth + 12, y + 38, "\(result.refusals) refused"))
        }
        return lines
    }

    private func x(_ second: Int) -> Double {
        Double(Self.left) + Double(second * Self.panelWidth) / Double(scenario.seconds)
    }

    private func height(_ count: Double, _ y: Int) -> Double {
        Double(y + Self.panelHeight) - min(count / highest, 1) * Double(Self.panelHeight)
    }
}
