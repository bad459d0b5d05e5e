// SPDX-License-Identifier: Apache-2.0

/// A chart of the strategies: the load of the server above, the calls that succeed below.
struct StudyChart: Sendable {
    private let report: StudyReport

    /// Creates a chart.
    init(_ report: StudyReport) { self.report = report }

    private static let colors = [
        "#d62728", "#ff7f0e", "#1f77b4", "#9467bd", "#2ca02c", "#111111",
    ]
    private static let width = 760
    private static let left = 56
    private static let panelHeight = 200
    private static let plotWidth = width - left - 16

    /// The chart as SVG, with the same bytes for the same report.
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
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" \
            font-family="sans-serif" font-size="12">
            """,
            #"<rect width="100%" height="100%" fill="white"/>"#,
            text(
                Self.left, 24, size: 16,
                "A brown-out of \(scenario.outage) s, \(scenario.clients) clients, six stacks"),
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
                #"<rect x="\#(Self.left)" y="\#(y - 9)" width="16" height="4" fill="\#(Self.colors[index])"/>"#
            )
            lines.append(
                text(
                    Self.left + 24, y,
                    "\(outcome.name): load x\(StudyReport.fixed(outcome.amplification)), "
                        + "recovered: \(report.recovery(of: outcome))"))
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private func panel(
        at y: Int, _ title: String, _ series: [[Double]], top: Double, steps: Double, unit: String
    ) -> [String] {
        let scenario = report.scenario
        let bottom = y + Self.panelHeight
        let begin = x(Double(scenario.before))
        let end = x(Double(scenario.before + scenario.outage))
        var lines = [
            text(Self.left, y - 10, title),
            """
            <rect x="\(number(begin))" y="\(y)" width="\(number(end - begin))" \
            height="\(Self.panelHeight)" fill="#eeeeee"/>
            """,
        ]
        for value in stride(from: 0, through: top, by: steps) {
            let place = height(value, top, bottom)
            lines.append(
                """
                <line x1="\(Self.left)" y1="\(number(place))" x2="\(Self.left + Self.plotWidth)" \
                y2="\(number(place))" stroke="#cccccc" stroke-width="0.5"/>
                """)
            lines.append(
                text(Self.left - 8, Int(place) + 4, "\(Int(value)) \(unit)", anchor: "end"))
        }
        for second in stride(from: 0, through: scenario.seconds, by: 20) {
            lines.append(text(Int(x(Double(second))), bottom + 16, "\(second) s", anchor: "middle"))
        }
        for (index, values) in series.enumerated() {
            let points = values.enumerated().map { second, value in
                "\(number(x(Double(second) + 0.5))),\(number(height(min(value, top), top, bottom)))"
            }
            lines.append(
                """
                <polyline points="\(points.joined(separator: " "))" fill="none" \
                stroke="\(Self.colors[index])" stroke-width="1.5"/>
                """)
        }
        return lines
    }

    private func x(_ second: Double) -> Double {
        Double(Self.left) + second / Double(report.scenario.seconds) * Double(Self.plotWidth)
    }

    private func height(_ value: Double, _ top: Double, _ bottom: Int) -> Double {
        Double(bottom) - value / top * Double(Self.panelHeight)
    }

    private func text(
        _ x: Int, _ y: Int, size: Int = 12, _ text: String, anchor: String = "start"
    ) -> String {
        #"<text x="\#(x)" y="\#(y)" font-size="\#(size)" text-anchor="\#(anchor)">\#(text)</text>"#
    }

    private func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
