// SPDX-License-Identifier: Apache-2.0

/// How long to wait before a hedge is sent.
public struct HedgeDelay: Sendable, Hashable {
    enum Kind: Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration, initially: Duration?)
    }

    let kind: Kind

    /// Returns a fixed delay.
    public static func fixed(_ delay: Duration) -> HedgeDelay { HedgeDelay(kind: .fixed(delay)) }

    /// Returns the delay that a share of the recent attempts to the same origin did not exceed.
    /// - Parameters:
    ///   - part: The share of the attempts that are faster: 0.95 sends a hedge for about one call
    ///     in twenty.
    ///   - atLeast: The shortest delay.
    ///   - initially: The delay until 20 attempts have been measured; if nil, no hedge is sent
    ///     before.
    /// - Returns: The delay.
    public static func percentile(
        _ part: Double = 0.95, atLeast: Duration = .milliseconds(50), initially: Duration? = nil
    ) -> HedgeDelay {
        // NaN counts as 1.
        let part = part <= 1 ? Swift.max(part, 0) : 1
        return HedgeDelay(kind: .percentile(part, atLeast: atLeast, initially: initially))
    }
}
