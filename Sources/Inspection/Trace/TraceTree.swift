// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A trace as a tree for drawing, in which each span is a row and the outermost span is first.
struct TraceTree {
    struct Row {
        let span: TraceSpan
        let depth: Int
        /// The time from the start of the call to the end of the span or, if the span is running,
        /// to the last known time of the call.
        let end: Duration
        /// The times in which no child was running, in order and without overlap.
        let own: [Range<Duration>]

        var ownTime: Duration { own.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) } }
    }

    /// The rows: each span is before its children, and children are in the order of their starts.
    let rows: [Row]
    /// The end of the last span, up to which running spans are drawn.
    let end: Duration

    init(_ trace: Trace) {
        let spans = trace.spans
        var end = Duration.zero
        for span in spans {
            end = max(end, span.start + (span.duration ?? .zero))
            for chunks in span.exchange?.chunks ?? [] { end = max(end, chunks.end) }
        }
        var children = [[Int]](repeating: [], count: spans.count)
        var next: [(index: Int, depth: Int)] = []
        for (index, span) in spans.enumerated() {
            if let parent = span.parent, parent < index {
                children[parent].append(index)
            } else {
                next.append((index, 0))
            }
        }
        next.reverse()
        func last(_ span: TraceSpan) -> Duration {
            max(span.start, span.duration.map { span.start + $0 } ?? end)
        }
        var rows: [Row] = []
        while let (index, depth) = next.popLast() {
            let inside = children[index].map { spans[$0].start..<last(spans[$0]) }
            let range = spans[index].start..<last(spans[index])
            rows.append(
                Row(
                    span: spans[index], depth: depth, end: range.upperBound,
                    own: Self.gaps(in: range, between: inside)))
            next += children[index].reversed().map { ($0, depth + 1) }
        }
        self.rows = rows
        self.end = end
    }

    private static func gaps(
        in range: Range<Duration>, between inside: [Range<Duration>]
    ) -> [Range<Duration>] {
        var gaps: [Range<Duration>] = []
        var place = range.lowerBound
        for part in inside.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let begin = min(part.lowerBound, range.upperBound)
            if begin > place { gaps.append(place..<begin) }
            place = max(place, min(part.upperBound, range.upperBound))
        }
        if place < range.upperBound { gaps.append(place..<range.upperBound) }
        return gaps
    }

    /// Times for the marks of an axis from zero to ``end``: 1, 2 or 5 times a power of ten.
    ///
    /// There are at most `count` marks, and more than a third of `count` if the axis has a length.
    func ticks(atMost count: Int) -> [Duration] {
        guard end > .zero, count > 0 else { return [.zero] }
        var step = Duration.nanoseconds(1)
        var factor = 0
        while end / step >= Double(count) {
            // The factor changes from 1 to 2, from 2 to 5, and from 5 to 10.
            step = factor % 3 == 1 ? step * 5 / 2 : step * 2
            factor += 1
        }
        return (0...Int(end / step)).map { step * $0 }
    }
}

/// The phases of an exchange that the transport has reported, with their durations.
struct TracePhases {
    enum Name: String, CaseIterable {
        case queue
        case resolution = "DNS"
        case connect
        case tls = "TLS"
        case send = "request sent"
        case firstByte = "first byte"
        case head
        case body

        var color: String {
            switch self {
            case .queue: "queue"
            case .resolution: "dns"
            case .connect: "connect"
            case .tls: "tls"
            case .send: "send"
            case .firstByte: "first"
            case .head: "head"
            case .body: "body"
            }
        }
    }

    private var durations: [Name: Duration] = [:]

    init(of span: TraceSpan, in children: [TraceSpan]) {
        for child in children {
            guard child.kind == .phase || child.kind == .body, let name = Name(rawValue: child.name)
            else { continue }
            durations[name, default: .zero] += max(child.duration ?? .zero, .zero)
        }
    }

    subscript(name: Name) -> Duration? { durations[name] }

    var sum: Duration { durations.values.reduce(.zero, +) }
}

/// The colors of spans and phases, in pictures and on pages.
///
/// Neighbors differ in lightness as well as in hue, for readers with a color deficiency.
enum TraceColors {
    static let light: [(name: String, color: String)] = [
        ("call", "#57606a"), ("gate", "#8c959f"), ("attempt", "#8250df"), ("wait", "#d4a72c"),
        ("exchange", "#4a9fdc"), ("queue", "#b9c2cc"), ("dns", "#1b7c83"), ("connect", "#e0823d"),
        ("tls", "#a475f9"), ("send", "#6cb6ff"), ("first", "#2da44e"), ("head", "#116329"),
        ("body", "#0969da"),
        ("phase", "#9aa4af"), ("bad", "#cf222e"),
    ]

    static let dark: [(name: String, color: String)] = [
        ("call", "#9da7b3"), ("gate", "#6e7781"), ("attempt", "#a371f7"), ("wait", "#bb8009"),
        ("exchange", "#388bfd"), ("queue", "#57606a"), ("dns", "#39c5cf"), ("connect", "#db6d28"),
        ("tls", "#8957e5"), ("send", "#79c0ff"), ("first", "#3fb950"), ("head", "#7ee787"),
        ("body", "#1f6feb"),
        ("phase", "#768390"), ("bad", "#f85149"),
    ]

    static let badText = (light: "#b31d28", dark: "#ff7b72")

    static func rules(_ colors: [(name: String, color: String)]) -> String {
        colors.map { ".\($0.name){fill:\($0.color)}" }.joined()
    }

    static func variables(_ colors: [(name: String, color: String)]) -> String {
        colors.map { "--\($0.name):\($0.color);" }.joined()
    }
}

enum TraceText {
    /// A time as in errors and logs: `312 µs`, `4.2 ms`, `1.42 s`.
    static func time(_ duration: Duration) -> String { max(duration, .zero).text }

    /// A count of bytes: `512 B`, `1.5 KiB`, `20 MiB`.
    static func bytes(_ count: Int64) -> String {
        if count < 1024 { return "\(count) B" }
        var value = Double(count)
        var unit = "B"
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 {
            value /= 1024
            unit = next
        }
        return (value < 9.95 ? fixed(value, 1) : fixed(value, 0)) + " " + unit
    }

    static func outcome(_ outcome: TraceSpan.Outcome?) -> String {
        switch outcome {
        case .returned(let status): status.map { "\($0.code)" } ?? ""
        case .failed(let label, _): Grammar.escaped(label)
        case .cancelled: "cancelled"
        case .dropped: "dropped"
        case nil: "under way"
        }
    }

    /// A date in UTC for people: `2026-11-23 16:40:00.123 UTC`.
    static func date(_ date: Date) -> String {
        HARFormat.date(date).replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    // `String(format:)` is not used, because the result depends on the locale.
    static func fixed(_ value: Double, _ places: Int) -> String {
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let whole = Int((value * Double(scale)).rounded())
        if places == 0 { return "\(whole)" }
        let rest = String(whole % scale)
        return "\(whole / scale)." + String(repeating: "0", count: places - rest.count) + rest
    }
}

extension TraceSpan {
    /// Whether the span ended with an error, or with a status of 400 or above.
    var isBad: Bool {
        switch outcome {
        case .failed: true
        case .returned(let status): (status?.code ?? 0) >= 400
        case .cancelled, .dropped, nil: false
        }
    }

    var kindName: String {
        switch kind {
        case .call: "call"
        case .gate: "gate"
        case .attempt: "attempt"
        case .wait: "wait"
        case .exchange: "exchange"
        case .phase: "phase"
        case .body: "body"
        }
    }
}

/// The parts of a peer's address: `192.0.2.1:80`, `[2001:db8::7]:80`, or the path of a Unix socket.
struct TracePeer {
    let host: String
    let port: Int?

    var isPath: Bool { host.hasPrefix("/") }

    init(_ address: String) {
        let end = address.lastIndex(of: ":")
        let isBracketed = address.hasPrefix("[")
        let hasPort =
            !address.hasPrefix("/") && end != nil
            && (isBracketed ? !address.hasSuffix("]") : end == address.firstIndex(of: ":"))
        guard hasPort || isBracketed else {
            (host, port) = (address, nil)
            return
        }
        host =
            isBracketed
            ? String(address.dropFirst().prefix { $0 != "]" })
            : String(address.prefix { $0 != ":" })
        port = hasPort ? end.flatMap { Int(address[address.index(after: $0)...]) } : nil
    }
}
