// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date
import TurnpikeSupport

extension HTTPHeaders {
    /// Returns how long the server asks to wait: the field `Retry-After`, in seconds or as a date
    /// (RFC 9110 §10.2.3).
    ///
    /// ```swift
    /// let (job, response) = try await client.get("jobs/7").decoded(Job.self)
    /// let wait = response.headers.retryAfter(at: Date()) ?? .seconds(5)
    /// ```
    ///
    /// ``ClientError/retryAfter`` has the same value for a call that failed.
    /// - Parameter now: The current time, from which a date is counted: `Date()`, or in a gate
    ///   ``TimeSource/date``.
    /// - Returns: The wait; zero for a date that has passed. Of several values it is the longest,
    ///   and nil if none is valid. A number of seconds counts as at most 1,000,000,000.
    public func retryAfter(at now: Date) -> Duration? {
        guard contains(.retryAfter) else { return nil }
        return values(of: .retryAfter).compactMap { value -> Duration? in
            if let date = HTTPDate.parse(value, now: now) {
                // Not a number if `now` is none; a duration has no room for infinity.
                let seconds = date.timeIntervalSince(now)
                return seconds > 0 ? .seconds(Swift.min(seconds, 1e12)) : .zero
            }
            return value.split(separator: ",").compactMap { Self.delay(Grammar.trimmed($0)) }.max()
        }.max()
    }

    // A number that exceeds 64 bits means a very long time and is not an error.
    private static func delay(_ text: Substring) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return .seconds(Swift.min(Int64(text) ?? .max, 1_000_000_000))
    }
}
