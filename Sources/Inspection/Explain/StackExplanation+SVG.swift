// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension StackExplanation {
    /// The explanation as one SVG file without other resources, in light or dark colors.
    ///
    /// Lines on the left connect each gate that sends again with the transport.
    public var svg: String {
        var picture = StackPicture()
        picture.title("\(method) \(url)")
        if let fault { picture.note("fails before a gate sees it: \(fault)") }
        let all = gates.flatMap(\.flattened)
        picture.lanes = all.count { $0.isActive && $0.repeats != nil }
        picture.depth = all.map(\.depth).max() ?? 0
        for gate in all { picture.card(gate) }
        picture.transport(transport)
        picture.bounds(BoundRow.rows(of: self))
        return picture.document
    }
}

extension GateExplanation {
    fileprivate var depth: Int { place.count { $0 == "." } }
}

private struct StackPicture {
    private struct Lane {
        let top: Int
        let label: String
    }

    var lanes = 0
    var depth = 0
    private var y = 24
    private var parts: [String] = []
    private var open: [Lane] = []

    private static let indent = 24
    private static let laneWidth = 22
    private static let line = 19

    private var left: Int { 24 + lanes * Self.laneWidth }
    // The innermost card must have space for text beside all lines.
    private var width: Int { max(880, left + depth * Self.indent + 520) }

    mutating func title(_ text: String) {
        for line in Self.wrapped(text, 80) {
            y += 20
            parts.append(Self.text(24, y, line, "title"))
        }
        y += 18
    }

    mutating func note(_ text: String) {
        for line in Self.wrapped(text, 110) {
            parts.append(Self.text(24, y, line, "bad"))
            y += Self.line
        }
        y += 6
    }

    mutating func card(_ gate: GateExplanation) {
        let indent = gate.depth * Self.indent
        let x = left + indent
        let width = self.width - 24 - x
        let columns = (width - 32) * 10 / 68
        let body = ([gate.statement] + gate.details.filter { $0 != gate.runs.rawValue })
            .flatMap { Self.wrapped($0, columns) }
        let height = 36 + body.count * Self.line
        let style = gate.isActive ? gate.status == .unknown ? "card odd" : "card" : "card faint"
        parts.append(
            "<rect class=\"\(style)\" x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\""
                + " rx=\"8\"/>")
        let faint = gate.isActive ? "" : " soft"
        parts.append(Self.text(x + 16, y + 24, "\(gate.place)  \(gate.name)", "name" + faint))
        parts.append(
            Self.text(x + width - 16, y + 24, gate.runs.rawValue, "soft", anchor: "end"))
        for (index, line) in body.enumerated() {
            parts.append(Self.text(x + 16, y + 45 + index * Self.line, line, "body" + faint))
        }
        if gate.isActive, let label = gate.repeats { open.append(Lane(top: y + 18, label: label)) }
        y += height + 12
    }

    mutating func transport(_ name: String) {
        let width = self.width - 24 - left
        parts.append(
            "<rect class=\"end\" x=\"\(left)\" y=\"\(y)\" width=\"\(width)\" height=\"36\" rx=\"8\"/>"
        )
        for line in Self.wrapped(name, 90).prefix(1) {
            parts.append(Self.text(left + 16, y + 23, line, "name"))
        }
        let bottom = y + 18
        for (index, lane) in open.enumerated() {
            let x = 30 + index * Self.laneWidth
            parts.append(
                "<path class=\"lane\" d=\"M\(left - 4) \(bottom)H\(x + 6)Q\(x) \(bottom) \(x)"
                    + " \(bottom - 6)V\(lane.top + 6)Q\(x) \(lane.top) \(x + 6) \(lane.top)H\(left - 8)\"/>"
            )
            parts.append(
                "<path class=\"tip\" d=\"M\(left - 10) \(lane.top - 4)L\(left - 2) \(lane.top)"
                    + "L\(left - 10) \(lane.top + 4)Z\"/>")
            let middle = (lane.top + bottom) / 2
            parts.append(
                "<text class=\"soft halo\" text-anchor=\"middle\" transform=\"translate(\(x + 4)"
                    + " \(middle)) rotate(-90)\">\(Self.escaped(lane.label))</text>")
        }
        y += 36 + 30
    }

    mutating func bounds(_ rows: [BoundRow]) {
        parts.append(Self.text(24, y, "At worst, one call", "name"))
        y += 12
        for row in rows {
            let reason = Self.wrapped(row.reason, 74)
            parts.append(
                "<line class=\"rule\" x1=\"24\" y1=\"\(y)\" x2=\"\(width - 24)\" y2=\"\(y)\"/>"
            )
            parts.append(Self.text(24, y + 19, row.label, "body"))
            let style = row.value == "UNBOUNDED" || row.value == "unknown" ? "bad" : "value"
            parts.append(Self.text(190, y + 19, row.value, style))
            for (index, line) in reason.enumerated() {
                parts.append(Self.text(340, y + 19 + index * Self.line, line, "soft"))
            }
            y += 8 + max(reason.count, 1) * Self.line
        }
        y += 12
    }

    var document: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(y)" \
        viewBox="0 0 \(width) \(y)" role="img" aria-label="What a stack does to a request">
        <style>
        svg { color-scheme: light dark; --paper: #ffffff; --ink: #1c2024; --soft: #5c646c; \
        --card: #f4f6f8; --edge: #c6ccd2; --mark: #0b6bcb; --bad: #b3261e; --end: #e3eefb }
        @media (prefers-color-scheme: dark) { svg { --paper: #15181c; --ink: #e8ebee; \
        --soft: #9aa4ae; --card: #20252b; --edge: #414a53; --mark: #6cb2ff; --bad: #ff8a80; \
        --end: #17304a } }
        text { font: 13px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; fill: var(--ink) }
        .paper { fill: var(--paper) } .title { font-size: 17px; font-weight: 600 }
        .name { font-weight: 600; font-size: 14px } .value { font-weight: 600 }
        .soft { fill: var(--soft) } .bad { fill: var(--bad); font-weight: 600 }
        .halo { font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 5px }
        .card { fill: var(--card); stroke: var(--edge) } .faint { fill: none; stroke-dasharray: 4 4 }
        .odd { stroke: var(--bad) } .end { fill: var(--end); stroke: var(--mark) }
        .rule { stroke: var(--edge) } .lane { fill: none; stroke: var(--mark); stroke-width: 1.5 }
        .tip { fill: var(--mark) }
        </style>
        <rect class="paper" width="100%" height="100%"/>
        \(parts.joined(separator: "\n"))
        </svg>

        """
    }

    private static func text(
        _ x: Int, _ y: Int, _ text: String, _ style: String, anchor: String? = nil
    ) -> String {
        let anchor = anchor.map { " text-anchor=\"\($0)\"" } ?? ""
        return "<text class=\"\(style)\" x=\"\(x)\" y=\"\(y)\"\(anchor)>\(escaped(text))</text>"
    }

    // Breaks the text between words. A word that is longer than a line is broken too.
    private static func wrapped(_ text: String, _ columns: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var rest = word
            while rest.count > columns {
                if !line.isEmpty { lines.append(line) }
                line = ""
                lines.append(String(rest.prefix(columns)))
                rest = rest.dropFirst(columns)
            }
            if line.count + rest.count + 1 > columns, !line.isEmpty {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + rest
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    // Replaces each character that XML does not allow.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += "\u{FFFD}"
            case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension StackExplanation {
    /// The explanation as a Mermaid flowchart, for Markdown with support for Mermaid.
    ///
    /// An edge back to a gate means that the gate repeats the inner gates.
    public var mermaid: String {
        var chart = MermaidChart()
        chart.node("call", "\(method) \(url)", shape: ("([", "])"))
        chart.gates(gates)
        chart.node("transport", transport, shape: ("[[", "]]"))
        let rows = BoundRow.rows(of: self).map { "\($0.label): \($0.value) – \($0.reason)" }
        chart.lines.append(
            "  worst[/\"" + rows.map(MermaidChart.escaped).joined(separator: "<br>") + "\"/]")
        chart.lines.append("  transport -.- worst")
        return chart.lines.joined(separator: "\n") + "\n"
    }
}

private struct MermaidChart {
    var lines = ["flowchart TD"]
    private var last: String?
    private var repeating: [(node: String, label: String)] = []

    mutating func node(
        _ id: String, _ text: String, shape: (String, String) = ("[", "]"), style: String = ""
    ) {
        lines.append("  \(id)\(shape.0)\"\(Self.escaped(text))\"\(shape.1)\(style)")
        if let last { lines.append("  \(last) --> \(id)") }
        if id == "transport" {
            for (node, label) in repeating { lines.append("  \(id) -. \(label) .-> \(node)") }
        }
        last = id
    }

    mutating func gates(_ gates: [GateExplanation]) {
        for gate in gates {
            let id = "g" + gate.place.replacing(".", with: "_")
            let details = [gate.statement] + gate.details
            let text = "\(gate.place) \(gate.name)\n" + details.joined(separator: "\n")
            let isFaint = !gate.isActive
            node(id, text, shape: isFaint ? ("(", ")") : ("[", "]"))
            if isFaint { lines.append("  style \(id) stroke-dasharray: 4 4") }
            if gate.isActive, let label = gate.repeats {
                repeating.append((id, label))
            }
            self.gates(gate.gates)
        }
    }

    // A quote would end the text of a node. A tag or an entity would not be shown as text.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "<br>"
            case "\"", "#", "&", "<", ">", "`", ";": result += "#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension GateExplanation {
    /// How often the gate repeats the inner gates, such as `3 attempts`, or nil.
    var repeats: String? {
        var labels: [String] = []
        for effect in effects {
            switch effect {
            case .retries(let attempts, _, _) where attempts != 1:
                labels.append(attempts.map { "\($0) attempts" } ?? "attempts without a bound")
            case .hedges(let copies, _) where copies > 0:
                labels.append("\(min(copies, .max - 1) + 1) copies")
            case .redirects(let hops) where hops > 0: labels.append("\(hops) redirects")
            case .replays(let times) where times > 0:
                labels.append(times == 1 ? "1 replay" : "\(times) replays")
            default: break
            }
        }
        return labels.isEmpty ? nil : labels.joined(separator: ", ")
    }
}
