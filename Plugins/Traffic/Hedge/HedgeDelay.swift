// SPDX-License-Identifier: Apache-2.0

/// The wait before a hedge is sent.
public struct HedgeDelay: Sendable, Hashable {
    enum Kind: Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration, initially: Duration?)
    }

    let kind: Kind

    /// Returns a fixed delay.
    public static func fixed(_ delay: Duration) -> HedgeDelay { HedgeDelay(kind: .fixed(delay)) }

    /// Returns a delay that a given share of the recent attempts to the same origin did not exceed.
    /// - Parameters:
    ///   - part: The share. With 0.95, about one call in twenty has a hedge.
    ///   - atLeast: The shortest delay.
    ///   - initially: The delay for the first 20 measured attempts. With nil, these attempts have
    ///     no hedges.
    /// - Returns: The delay.
    public static func percentile(
        _ part: Double = 0.95, atLeast: Duration = .milliseconds(50), initially: Duration? = nil
    ) -> HedgeDelay {
        // A share that is not a number counts as 1.
        let part = part <= 1 ? Swift.max(part, 0) : 1
        return HedgeDelay(kind: .percentile(part, atLeast: atLeast, initially: initially))
    }
}
