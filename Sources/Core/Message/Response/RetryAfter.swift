package import struct Foundation.Date
import TurnpikeSupport

/// The field `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
package enum RetryAfter {
    /// Returns how long a response asks to wait; of several values, the longest.
    ///
    /// Returns nil if there is no valid value.
    package static func delay(in head: ResponseHead?, now: Date) -> Duration? {
        guard let head, head.headers.contains(.retryAfter) else { return nil }
        return head.headers.values(of: .retryAfter).compactMap { value -> Duration? in
            if let date = HTTPDate.parse(value, now: now) {
                return .seconds(Swift.max(date.timeIntervalSince(now), 0))
            }
            return value.split(separator: ",").compactMap { seconds(Grammar.trimmed($0)) }.max()
        }.max()
    }

    // A number that exceeds 64 bits means a very long time and is not an error.
    private static func seconds(_ text: Substring) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return .seconds(min(Int64(text) ?? .max, 1_000_000_000))
    }
}
