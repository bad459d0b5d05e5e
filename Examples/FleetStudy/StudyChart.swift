// SPDX-License-Identifier: Apache-2.0

/// A chart: for each way to keep the quota, a panel with the requests that arrived in each second.
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

    /// The chart as SVG, with the same bytes for the same report.
    var svg: String {
        let height = Self.first + report.results.count * Self.rowHeight
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" \
            font-family="sans-serif" font-size="11">
            """,
            #"<rect width="100%" height="100%" fill="white"/>"#,
            text(
                Self.left, 24, size: 16,
                "\(scenario.replicas) replicas, one quota of \(Int(scenario.quota)) requests a second"
            ),
            text(Self.left, 44, "requests that arrive in each second; the line is the quota"),
        ]
        for (row, result) in report.results.enumerated() {
            lines += panel(of: result, at: Self.first + row * Self.rowHeight)
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private func panel(of result: StudyResult, at y: Int) -> [String] {
        let bottom = y + Self.panelHeight
        var lines = [text(Self.left, y - 6, result.limiting.rawValue, weight: "bold")]
        if result.limiting == .outage {
            let (begin, end) = (x(scenario.outage.lowerBound), x(scenario.outage.upperBound))
            lines.append(
                """
                <rect x="\(number(begin))" y="\(y)" width="\(number(end - begin))" \
                height="\(Self.panelHeight)" fill="#eeeeee"/>
                """)
        }
        for (second, count) in result.perSecond.enumerated() {
            let top = self.height(Double(count), y)
            let color =
                Double(count) > scenario.quota + Double(scenario.burst) ? "#d62728" : "#1f77b4"
            lines.append(
                """
                <rect x="\(number(x(second) + 1))" y="\(number(top))" \
                width="\(number(x(1) - x(0) - 2))" height="\(number(Double(bottom) - top))" \
                fill="\(color)"/>
                """)
        }
        let quota = number(height(scenario.quota, y))
        lines.append(
            """
            <line x1="\(Self.left)" y1="\(quota)" x2="\(Self.left + Self.panelWidth)" y2="\(quota)" \
            stroke="black" stroke-width="1"/>
            """)
        for tick in [0, scenario.quota, scenario.quota * 2] {
            lines.append(
                text(Self.left - 6, Int(height(tick, y)) + 4, "\(Int(tick))", anchor: "end"))
        }
        for second in stride(from: 0, through: scenario.seconds, by: 10) {
            lines.append(text(Int(x(second)), bottom + 14, "\(second) s", anchor: "middle"))
        }
        let used = Int((result.used * 100).rounded())
        lines.append(text(Self.left + Self.panelWidth + 12, y + 20, "\(used) % used"))
        if result.refusals > 0 {
            lines.append(
                text(Self.left + Self.panelWidth + 12, y + 38, "\(result.refusals) refused"))
        }
        return lines
    }

    private func x(_ second: Int) -> Double {
        Double(Self.left) + Double(second * Self.panelWidth) / Double(scenario.seconds)
    }

    private func height(_ count: Double, _ y: Int) -> Double {
        Double(y + Self.panelHeight) - min(count / highest, 1) * Double(Self.panelHeight)
    }

    private func text(
        _ x: Int, _ y: Int, size: Int = 11, _ text: String, anchor: String = "start",
        weight: String = "normal"
    ) -> String {
        """
        <text x="\(x)" y="\(y)" font-size="\(size)" font-weight="\(weight)" \
        text-anchor="\(anchor)">\(text)</text>
        """
    }

    private func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
