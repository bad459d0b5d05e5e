// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension Trace {
    /// Returns the trace as a waterfall for a terminal.
    ///
    /// Each span has a line, indented by depth, with the outcome, the time, the own time, and a
    /// bar.
    ///
    /// In a bar, `█` is the span's own time or an exchange, `░` is a wait, and `─` is the time of
    /// inner spans. The errors follow below the lines of the spans. A narrow terminal shows no own
    /// times. A very narrow terminal shows no outcomes either. Control characters in names are
    /// escaped.
    ///
    /// ```
    /// GET /users/1                200   312 ms    40 µs  ───────────────────────
    ///   Retry                     200   312 ms    80 µs  ───────────────────────
    ///     attempt 1               503   104 ms    60 µs  ───────▏
    ///       GET /users/1          503   104 ms   104 ms  ████████
    ///     back-off                      100 ms   100 ms          ░░░░░░░░
    ///     attempt 2               200   107 ms    50 µs                  ────────
    /// ```
    /// - Parameters:
    ///   - width: The maximum number of columns of a line, at least 20.
    ///   - color: Whether bars and outcomes have ANSI colors, which only a terminal shows.
    /// - Returns: The lines, each with a line end.
    public func waterfall(width: Int = 100, color: Bool = false) -> String {
        Waterfall(self, width: min(max(width, 20), 500), hasColor: color).text
    }
}

private struct Waterfall {
    private let trace: Trace
    private let tree: TraceTree
    private let hasColor: Bool
    private let width: Int
    private var nameWidth = 0
    private var figures: [[String]] = []
    private var barWidth = 0

    init(_ trace: Trace, width: Int, hasColor: Bool) {
        self.trace = trace
        self.width = width
        self.hasColor = hasColor
        tree = TraceTree(trace)
        let rows = tree.rows
        let outcomes = rows.map { String(TraceText.outcome($0.span.outcome).prefix(14)) }
        let totals = rows.map { TraceText.time($0.end - $0.span.start) }
        let owns = rows.map { TraceText.time($0.ownTime) }
        figures =
            width < 48 ? [totals] : width < 72 ? [outcomes, totals] : [outcomes, totals, owns]
        let taken = figures.reduce(0) { $0 + 2 + Self.columns($1) }
        let room = width - taken - 2
        let longest = rows.map { 2 * $0.depth + TerminalWidth.of(Grammar.escaped($0.span.name)) }
        // The bar gets the columns that the names do not need, and at least half of all columns.
        nameWidth = min(longest.max() ?? 0, max(room / 2, min(8, room - 4), 3))
        barWidth = max(room - nameWidth, 1)
    }

    private static func columns(_ texts: [String]) -> Int { texts.map(\.count).max() ?? 0 }

    var text: String {
        var lines = [heading, axis]
        lines += tree.rows.indices.map(line)
        lines += notes
        return lines.map { $0 + "\n" }.joined()
    }

    // MARK: Lines

    private var heading: String {
        let sends = trace.spans.count { $0.kind == .exchange }
        let parts = [
            "call \(trace.id)", TraceText.date(trace.date),
            sends == 1 ? "1 exchange" : "\(sends) exchanges",
            trace.isComplete ? TraceText.time(tree.end) : "under way",
        ]
        return cut(parts.joined(separator: ", "), to: width)
    }

    private var axis: String {
        let start = width - barWidth
        var line = String(repeating: " ", count: start)
        for tick in tree.ticks(atMost: max(barWidth / 10, 1)) {
            let label = TraceText.time(tick)
            let place = start + (tree.end > .zero ? Int(tick / tree.end * Double(barWidth)) : 0)
            guard place >= line.count, place + label.count <= width else { continue }
            line += String(repeating: " ", count: place - line.count) + label
        }
        return line
    }

    private func line(_ index: Int) -> String {
        let row = tree.rows[index]
        let deepest = tree.rows.map(\.depth).max() ?? 0
        let step = deepest * 2 + 8 <= nameWidth ? 2 : 1
        let indent = min(row.depth * step, max(nameWidth - 8, 0))
        let name = cut(Grammar.escaped(row.span.name), to: nameWidth - indent)
        let label = String(repeating: " ", count: indent) + name
        var line = label + String(repeating: " ", count: nameWidth - TerminalWidth.of(label))
        if row.span.kind == .call { line = colored(line, "1") }
        for (place, texts) in figures.enumerated() {
            let text = texts[index]
            let padding = String(repeating: " ", count: Self.columns(texts) - text.count)
            let isOutcome = place == 0 && figures.count > 1
            let shown = isOutcome && row.span.isBad ? colored(text, "31") : text
            line += "  " + (isOutcome ? shown + padding : padding + shown)
        }
        let bar = bar(row)
        return bar.isEmpty ? line : line + "  " + bar
    }

    private var notes: [String] {
        var lines: [String] = []
        var seen: Set<String> = []
        // Only the innermost span is named, because an error passes through the outer gates.
        for row in tree.rows.reversed() {
            guard case .failed(let label, let description)? = row.span.outcome,
                seen.insert(description).inserted
            else { continue }
            let text = description.hasPrefix(label) ? description : "\(label): \(description)"
            lines.append("✗ " + Grammar.escaped("\(row.span.name): \(text)"))
        }
        lines.reverse()
        if trace.omitted > 0 { lines.append("\(trace.omitted) spans left out") }
        return lines.map { TerminalWidth.of($0) > 4 * width ? cut($0, to: 4 * width) : $0 }
    }

    // MARK: Bars

    private func bar(_ row: TraceTree.Row) -> String {
        guard tree.end > .zero else { return "" }
        let cell = tree.end / barWidth
        // A span may be outside the axis if a clock was set back.
        func place(_ cells: Double) -> Int { Int(min(max(cells, 0), Double(barWidth - 1))) }
        let first = place(row.span.start / cell)
        var bar = String(repeating: " ", count: first)
        if row.end - row.span.start < cell / 2 {
            return bar + colored("▏", color(of: row.span))
        }
        let last = max(first, place((row.end / cell).rounded(.up) - 1))
        var cells = ""
        for place in first...last {
            let from = max(cell * place, row.span.start)
            let to = min(cell * (place + 1), row.end)
            let own = row.own.reduce(Duration.zero) {
                $0 + max(min($1.upperBound, to) - max($1.lowerBound, from), .zero)
            }
            let isOwn = row.span.kind == .exchange || own * 2 >= to - from
            cells += !isOwn ? "─" : row.span.kind == .wait ? "░" : "█"
        }
        if row.span.duration == nil { cells = cells.dropLast() + "▸" }
        bar += colored(cells, color(of: row.span))
        return bar
    }

    private func color(of span: TraceSpan) -> String {
        if span.isBad { return "31" }
        return switch span.kind {
        case .call, .gate: "34"
        case .attempt: "35"
        case .wait: "33"
        case .exchange: "32"
        case .phase, .body: "36"
        }
    }

    private func colored(_ text: String, _ code: String) -> String {
        hasColor && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private func cut(_ text: String, to columns: Int) -> String {
        if TerminalWidth.of(text) <= columns { return text }
        var room = columns - 1
        let start = text.prefix { character in
            room -= TerminalWidth.of(character)
            return room >= 0
        }
        return start + "…"
    }
}

private enum TerminalWidth {
    static func of(_ text: String) -> Int { text.reduce(0) { $0 + of($1) } }

    /// The width in columns: two for wide East Asian characters and pictures, else one (UAX #11).
    static func of(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.isEmojiPresentation { return 2 }
        return switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            2
        default: 1
        }
    }
}
