// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A path with placeholders: `/users/{id}/photos/*`.
///
/// `{name}` matches one segment and captures it, `*` matches any one segment, and `**` at the end
/// matches the rest, which may be empty. Everything else must equal the percent-encoded path of the
/// URL.
public struct PathPattern: Hashable, Sendable {
    /// The pattern as it was written.
    let text: String
    private let segments: [Substring]

    /// Creates a pattern.
    public init(_ text: String) {
        self.text = text
        segments = text.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Returns the captured segments, or nil if the path does not match.
    func match(_ path: String) -> [String: String]? {
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
