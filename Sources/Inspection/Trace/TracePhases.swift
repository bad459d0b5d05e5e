// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The phases of an exchange that its transport has reported, each with the time that it took.
struct TracePhases {
    /// A phase, by the name that the recorder gives to its span.
    enum Name: String, CaseIterable {
        case queue
        case resolution = "DNS"
        case connect
        case tls = "TLS"
        case send = "request sent"
        case firstByte = "first byte"
        case head
        case body

        /// The name of its color in ``TraceColors``.
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

    /// Reads the phases right inside an exchange.
    init(of span: TraceSpan, in children: [TraceSpan]) {
        for child in children {
            guard child.kind == .phase || child.kind == .body, let name = Name(rawValue: child.name)
            else { continue }
            durations[name, default: .zero] += max(child.duration ?? .zero, .zero)
        }
    }

    /// How long a phase took, or nil if it is not known.
    subscript(name: Name) -> Duration? { durations[name] }

    /// The sum of all that are known.
    var sum: Duration { durations.values.reduce(.zero, +) }
}

/// The colors of spans and phases, in pictures and on pages.
///
/// Neighbors differ in lightness as well as in hue, for readers who see fewer colors.
enum TraceColors {
    /// A color for each class, on white.
    static let light: [(name: String, color: String)] = [
        ("call", "#57606a"), ("gate", "#8c959f"), ("attempt", "#8250df"), ("wait", "#d4a72c"),
        ("exchange", "#4a9fdc"), ("queue", "#b9c2cc"), ("dns", "#1b7c83"), ("connect", "#e0823d"),
        ("tls", "#a475f9"), ("send", "#6cb6ff"), ("first", "#2da44e"), ("head", "#116329"),
        ("body", "#0969da"),
        ("phase", "#9aa4af"), ("bad", "#cf222e"),
    ]

    /// A color for each class, on black.
    static let dark: [(name: String, color: String)] = [
        ("call", "#9da7b3"), ("gate", "#6e7781"), ("attempt", "#a371f7"), ("wait", "#bb8009"),
        ("exchange", "#388bfd"), ("queue", "#57606a"), ("dns", "#39c5cf"), ("connect", "#db6d28"),
        ("tls", "#8957e5"), ("send", "#79c0ff"), ("first", "#3fb950"), ("head", "#7ee787"),
        ("body", "#1f6feb"),
        ("phase", "#768390"), ("bad", "#f85149"),
    ]

    /// The color of text that tells a failure.
    static let badText = (light: "#b31d28", dark: "#ff7b72")

    /// Rules of a style sheet that fill each class.
    static func rules(_ colors: [(name: String, color: String)]) -> String {
        colors.map { ".\($0.name){fill:\($0.color)}" }.joined()
    }

    /// Variables of a style sheet with the colors.
    static func variables(_ colors: [(name: String, color: String)]) -> String {
        colors.map { "--\($0.name):\($0.color);" }.joined()
    }
}
