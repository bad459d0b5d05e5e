// SPDX-License-Identifier: Apache-2.0

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
