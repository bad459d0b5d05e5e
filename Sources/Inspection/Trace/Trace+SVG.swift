// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension Trace {
    /// Returns the trace as a waterfall in an SVG file, for documents and tickets.
    ///
    /// The file needs no script, no font and no other file. The picture is dark if the viewer
    /// prefers dark pages. The bar of an exchange shows the colors of the phases, which have no
    /// separate rows.
    /// - Parameter width: The width in pixels, from 400 to 10,000.
    /// - Returns: The text of the file.
    public func svg(width: Int = 860) -> String {
        TracePicture(self, width: min(max(width, 400), 10_000)).text
    }
}

private struct TracePicture {
    private let trace: Trace
    private let tree: TraceTree
    private let rows: [TraceTree.Row]
    private let width: Double
    private let barStart: Double
    private let barWidth: Double

    private static let rowHeight = 22.0
    private static let top = 44.0
    private static let figures = 132.0

    init(_ trace: Trace, width: Int) {
        self.trace = trace
        self.width = Double(width)
        tree = TraceTree(trace)
        rows = tree.rows.filter { $0.span.kind != .phase && $0.span.kind != .body }
        // At a text size of 12 pixels, most letters of most fonts need at most 6.4 pixels.
        let widest = rows.map { Double($0.depth) * 12 + Double($0.span.name.count) * 6.4 }.max()
        let names = min(max(widest ?? 0, 60), Double(width) * 0.36)
        barStart = 14 + names + Self.figures
        barWidth = Double(width) - barStart - 16
    }

    var text: String {
        let height = Self.top + Double(rows.count) * Self.rowHeight + 34
        let size = "width=\"\(Int(width))\" height=\"\(Int(height))\""
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) viewBox=\"0 0 \(Int(width))"
                + " \(Int(height))\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">",
            "<title>\(Self.escaped(title))</title>", Self.style,
            "<rect class=\"page\" \(size) rx=\"6\"/>",
        ]
        lines += axis(height)
        for (index, row) in rows.enumerated() { lines += drawn(row, index) }
        lines += legend(height)
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private var title: String {
        let name = trace.spans.first?.name ?? "\(trace.id)"
        return "Where the time of \(name) went: \(TraceText.time(tree.end))"
    }

    // MARK: Rows

    private func drawn(_ row: TraceTree.Row, _ index: Int) -> [String] {
        let top = Self.top + Double(index) * Self.rowHeight
        let base = Self.number(top + 15)
        let indent = 14 + Double(row.depth) * 12
        let room = max(Int((barStart - Self.figures - indent) / 6.4), 4)
        let name = row.span.name.count > room ? row.span.name.prefix(room - 1) + "…" : row.span.name
        var lines: [String] = []
        if index % 2 == 1 {
            lines.append(
                "<rect class=\"stripe\" y=\"\(Self.number(top))\" width=\"\(Int(width))\""
                    + " height=\"\(Int(Self.rowHeight))\"/>")
        }
        let weight = row.span.kind == .call ? " font-weight=\"600\"" : ""
        lines.append(
            "<text x=\"\(Self.number(indent))\" y=\"\(base)\"\(weight)>\(Self.escaped(name))</text>"
        )
        let outcome = Self.escaped(String(TraceText.outcome(row.span.outcome).prefix(12)))
        let bad = row.span.isBad ? " class=\"bad\"" : " class=\"note\""
        lines.append(
            "<text x=\"\(Self.number(barStart - 78))\" y=\"\(base)\" text-anchor=\"end\"\(bad)>"
                + "\(outcome)</text>")
        lines.append(
            "<text x=\"\(Self.number(barStart - 14))\" y=\"\(base)\" text-anchor=\"end\">"
                + "\(TraceText.time(row.end - row.span.start))</text>")
        return lines + bars(row, top + 5)
    }

    private func bars(_ row: TraceTree.Row, _ top: Double) -> [String] {
        let span = row.span
        if span.kind == .exchange { return exchange(row, top) }
        var lines: [String] = []
        let kind = span.isBad ? "bad" : span.kindName
        // The line shows the time of inner spans. The bar on the line is the own time of the span.
        if span.kind != .wait {
            lines.append(bar(span.start..<row.end, top + 4.5, 3, "inside \(kind)"))
        }
        // A bar of less than a pixel is not drawn. For a bar of less than a pixel, only the figure
        // is shown.
        let least = span.kind == .wait ? .zero : tree.end / barWidth * 1.5
        lines += row.own.filter { $0.upperBound - $0.lowerBound >= least }.map {
            bar($0, top, 12, kind)
        }
        return lines
    }

    private func exchange(_ row: TraceTree.Row, _ top: Double) -> [String] {
        let phases = tree.rows.filter { $0.span.parent == row.span.id }
        var lines = [bar(row.span.start..<row.end, top, 12, row.span.isBad ? "bad" : "exchange")]
        for phase in phases where phase.end > phase.span.start {
            let name = TracePhases.Name(rawValue: phase.span.name)
            lines.append(bar(phase.span.start..<phase.end, top, 12, name?.color ?? "phase"))
        }
        if row.span.isBad, !phases.isEmpty {
            lines.append(bar(row.span.start..<row.end, top + 13, 2, "bad"))
        }
        return lines
    }

    private func bar(
        _ range: Range<Duration>, _ top: Double, _ height: Double, _ kind: String
    ) -> String {
        let start = place(range.lowerBound)
        let length = max(place(range.upperBound) - start, 1.5)
        return "<rect class=\"\(kind)\" x=\"\(Self.number(start))\" y=\"\(Self.number(top))\""
            + " width=\"\(Self.number(length))\" height=\"\(Self.number(height))\" rx=\"1.5\"/>"
    }

    private func place(_ time: Duration) -> Double {
        // A span may be outside the axis if a clock was set back.
        tree.end > .zero ? barStart + min(max(time / tree.end, 0), 1) * barWidth : barStart
    }

    // MARK: Around the rows

    private func axis(_ height: Double) -> [String] {
        tree.ticks(atMost: max(Int(barWidth / 70), 1)).flatMap { tick in
            let x = Self.number(place(tick))
            let isLast = place(tick) > width - 40
            return [
                "<line class=\"tick\" x1=\"\(x)\" x2=\"\(x)\" y1=\"34\""
                    + " y2=\"\(Self.number(height - 32))\"/>",
                "<text class=\"note\" x=\"\(x)\" y=\"26\" text-anchor=\"\(isLast ? "end" : "middle")\">"
                    + "\(TraceText.time(tick))</text>",
            ]
        }
    }

    private func legend(_ height: Double) -> [String] {
        let names = tree.rows.compactMap { row in
            row.span.kind == .phase || row.span.kind == .body
                ? TracePhases.Name(rawValue: row.span.name) : nil
        }
        var entries = TracePhases.Name.allCases.filter(names.contains).map {
            ($0.color, $0.rawValue)
        }
        if rows.contains(where: { $0.span.kind == .wait }) {
            entries.insert(("wait", "wait"), at: 0)
        }
        if rows.contains(where: { $0.span.isBad }) { entries.append(("bad", "failed")) }
        var x = barStart
        return entries.map { kind, name in
            defer { x += 26 + Double(name.count) * 6.4 }
            let base = Self.number(height - 12)
            return
                "<rect class=\"\(kind)\" x=\"\(Self.number(x))\" y=\"\(Self.number(height - 21))\""
                + " width=\"10\" height=\"10\" rx=\"2\"/>"
                + "<text class=\"note\" x=\"\(Self.number(x + 14))\" y=\"\(base)\">\(name)</text>"
        }
    }

    private static let style = """
        <style>.page{fill:#fff}text{fill:#24292f}.note{fill:#656d76}.stripe{fill:#f6f8fa}\
        .tick{stroke:#d8dee4}.inside{opacity:.35}
        \(TraceColors.rules(TraceColors.light))text.bad{fill:\(TraceColors.badText.light)}
        @media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.note{fill:#8d96a0}\
        .stripe{fill:#151b23}.tick{stroke:#2a313c}
        \(TraceColors.rules(TraceColors.dark))text.bad{fill:\(TraceColors.badText.dark)}}</style>
        """

    private static func number(_ value: Double) -> String {
        let text = TraceText.fixed(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    // The rule is XML 1.0 §2.4. Characters that XML does not allow are shown as in a terminal.
    private static func escaped(_ text: some StringProtocol) -> String {
        Grammar.escaped(String(text)).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }
}
