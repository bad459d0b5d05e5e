// SPDX-License-Identifier: Apache-2.0

/// The shapes of a chart as SVG text.
///
/// The same figures always give the same bytes.
public enum SVG {
    /// A picture of shapes on a white background.
    public static func picture(
        width: Int, height: Int, fontSize: Int, _ shapes: [String]
    ) -> String {
        let head = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" \
            font-family="sans-serif" font-size="\(fontSize)">
            """,
            #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        return (head + shapes + ["</svg>", ""]).joined(separator: "\n")
    }

    /// A line of text.
    public static func text(
        _ x: Int, _ y: Int, size: Int = 11, _ text: String, anchor: String = "start",
        weight: String = "normal"
    ) -> String {
        """
        <text x="\(x)" y="\(y)" font-size="\(size)" font-weight="\(weight)" \
        text-anchor="\(anchor)">\(text)</text>
        """
    }

    /// A filled rectangle.
    public static func rectangle(
        _ x: Double, _ y: Double, width: Double, height: Double, fill: String
    ) -> String {
        """
        <rect x="\(number(x))" y="\(number(y))" width="\(number(width))" \
        height="\(number(height))" fill="\(fill)"/>
        """
    }

    /// A horizontal line.
    public static func level(
        _ y: Double, from left: Int, to right: Int, color: String = "#cccccc", width: Double = 0.5
    ) -> String {
        """
        <line x1="\(left)" y1="\(number(y))" x2="\(right)" y2="\(number(y))" \
        stroke="\(color)" stroke-width="\(number(width))"/>
        """
    }

    /// A line through points.
    public static func curve(_ points: [(Double, Double)], color: String) -> String {
        let places = points.map { x, y in "\(number(x)),\(number(y))" }
        return """
            <polyline points="\(places.joined(separator: " "))" fill="none" stroke="\(color)" \
            stroke-width="1.5"/>
            """
    }

    // At most one decimal, independently of the locale.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
