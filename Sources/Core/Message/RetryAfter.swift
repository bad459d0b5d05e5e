package import struct Foundation.Date

/// The field `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
package enum RetryAfter {
    /// How long a response asks to wait; of several values the longest.
    ///
    /// nil where it asks nothing that can be read.
    package static func delay(in head: ResponseHead?, now: Date) -> Duration? {
        guard let head, head.headers.contains(.retryAfter) else { return nil }
        return head.headers.values(of: .retryAfter).compactMap { value -> Duration? in
            if let date = HTTPDate.parse(value, now: now) {
                return .seconds(Swift.max(date.timeIntervalSince(now), 0))
            }
            return value.split(separator: ",").compactMap { seconds(Grammar.trimmed($0)) }.max()
        }.max()
    }

    // Digits beyond what 64 bits hold mean a very long time, not a fault.
    private static func seconds(_ text: Substring) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return .seconds(min(Int64(text) ?? .max, 1_000_000_000))
    }
}
