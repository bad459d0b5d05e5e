// SPDX-License-Identifier: Apache-2.0

public import TurnpikeTraffic

/// A replica's request for permits of a shared quota.
public struct QuotaRequest: Sendable, Hashable {
    /// The owner of the quota: an origin, a tenant, an account.
    ///
    /// The store has one state for each key and rule. The key may be any text without secrets.
    public var key: String
    /// The limits of the quota, each once.
    ///
    /// All must have permits.
    ///
    /// The store finds the state of each by its ``/TurnpikeTraffic/QuotaRule/identity``.
    public var rules: [QuotaRule]
    /// The smallest useful number of permits, such as the cost of one call; at least 1.
    public var minimum: Int
    /// The largest useful number of permits.
    public var maximum: Int
    /// How far ahead permits may be reserved: the longest wait until the first permit may be used.
    public var reach: Duration

    /// Creates a request.
    public init(
        key: String, rules: [QuotaRule], minimum: Int = 1, maximum: Int = 1,
        reach: Duration = .zero
    ) {
        self.key = key
        self.rules = rules
        self.minimum = max(minimum, 1)
        self.maximum = max(maximum, self.minimum)
        self.reach = max(reach, .zero)
    }
}

/// The answer of a shared quota to a request.
public enum QuotaAnswer: Sendable, Hashable {
    /// Permits were taken.
    case granted(QuotaGrant)
    /// Nothing was taken, because the first permit would come later than the request's
    /// ``QuotaRequest/reach``. `retryAfter` is the time until that permit.
    case exhausted(retryAfter: Duration)
    /// Nothing was taken, because a cool-down of the same key lasts this long
    /// (``SharedStore/coolDown(for:_:)``).
    case coolingDown(Duration)
}

/// Permits that were taken from a shared quota.
///
/// Each may be used from a certain time on.
public struct QuotaGrant: Sendable, Hashable {
    /// The number of permits taken.
    public let permits: Int
    /// For each rule of the request, the time from the decision until the first permit is due.
    ///
    /// The time is negative if permits were left. With -5 intervals, five more permits after the
    /// first one are due at once.
    public let offsets: [Duration]

    /// Creates a grant.
    public init(permits: Int, offsets: [Duration]) {
        self.permits = permits
        self.offsets = offsets
    }
}
