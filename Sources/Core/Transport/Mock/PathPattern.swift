import Foundation

/// A path with places that are open: `/users/{id}/photos/*`.
///
/// `{name}` stands for one segment, whose text is kept; `*` for any one segment; `**` at the end for
/// all the rest, even none. Everything else is compared as it stands in the URL, percent-encoded.
public struct PathPattern: Hashable, Sendable {
    /// The pattern as it was written.
    public let text: String
    private let segments: [Substring]

    /// Creates a pattern.
    public init(_ text: String) {
        self.text = text
        segments = text.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The texts that stand in the named places, or nil where the path does not match.
    public func match(_ path: String) -> [String: String]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        var found: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if segment == "**", index == segments.count - 1 { return found }
            guard index < parts.count else { return nil }
            if segment == "*" { continue }
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                if parts[index].isEmpty { return nil }
                found[String(segment.dropFirst().dropLast())] =
                    parts[index].removingPercentEncoding ?? String(parts[index])
            } else if segment != parts[index] {
                return nil
            }
        }
        return parts.count == segments.count ? found : nil
    }
}

extension PathPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a pattern.
    public init(stringLiteral value: String) { self.init(value) }

    /// The pattern as it was written.
    public var description: String { text }
}
