// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One limit of a quota: how many permits come in a period.
///
/// Permits come evenly, and up to ``burst`` of them are kept for later (the generic cell rate
/// algorithm, ITU-T I.371). In a time `t`, calls get at most `burst + t · permits / period`.
public struct QuotaRule: Sendable, Hashable {
    /// How many permits come in a period.
    public let permits: Double
    /// The period.
    public let period: Duration
    /// How many permits may go at once after a pause; at least 1.
    public let burst: Double
    /// A text that identifies the state of the rule in a store, besides the key of the quota:
    /// number, period, burst, and a suffix that distinguishes the limits.
    ///
    /// Rules with the same identity have the same state, at any position in a list.
    public let identity: String

    /// Creates a rule.
    ///
    /// An invalid value becomes the nearest valid value.
    /// - Parameters:
    ///   - permits: How many permits come in a period; fractions are allowed.
    ///   - period: The period.
    ///   - burst: How many permits may go at once after a pause.
    public init(_ permits: Double, per period: Duration, burst: Double = 1) {
        self.period = min(max(period, .milliseconds(1)), .seconds(366 * 86_400))
        self.permits = permits > 1e-6 ? min(permits, 1e12) : 1e-6
        self.burst = burst > 1 ? min(burst, 1e12) : 1
        identity = "\(self.permits)/\(self.period.wholeNanoseconds)/\(self.burst)"
    }

    private init(_ rule: QuotaRule, burst: Double, identity: String) {
        permits = rule.permits
        period = rule.period
        self.burst = burst > 1 ? burst : 1
        self.identity = identity
    }

    /// The same rule with a smaller burst, which continues with the state of this rule.
    public func grantingBurst(times share: Double) -> QuotaRule {
        QuotaRule(self, burst: burst * share, identity: identity)
    }

    /// The same rule with a separate state.
    public func identified(by suffix: String) -> QuotaRule {
        QuotaRule(self, burst: burst, identity: identity + suffix)
    }

    /// The time between two permits; it may be shorter than a nanosecond, so it is in nanoseconds.
    public var nanosecondsPerPermit: Double {
        Double(period.wholeNanoseconds) / permits
    }
}
