// SPDX-License-Identifier: Apache-2.0

public import TurnpikeTraffic

/// A replica's request for permits of a shared quota.
public struct QuotaRequest: Sendable, Hashable {
    /// The owner of the quota, such as an origin, a tenant or an account.
    ///
    /// The store has one state for each key and rule. The key must not contain a secret.
    public var key: String
    /// The rules of the quota, without repetitions.
    ///
    /// Permits are taken only if every rule has enough permits.
    ///
    /// The store finds the state of a rule by ``/TurnpikeTraffic/QuotaRule/identity``.
    public var rules: [QuotaRule]
    /// The smallest useful number of permits (at least 1), such as the cost of one call.
    public var minimum: Int
    /// The largest useful number of permits.
    public var maximum: Int
    /// The longest time until the first permit is due, for reservations ahead.
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
    /// No permit was taken, because the first permit is due in `retryAfter`, beyond
    /// ``QuotaRequest/reach``.
    case exhausted(retryAfter: Duration)
    /// No permit was taken, because a cool-down of the same key lasts for this time
    /// (``SharedStore/coolDown(for:_:)``).
    case coolingDown(Duration)
}

/// Permits that were taken from a shared quota.
///
/// Each permit may be used from its due time on.
public struct QuotaGrant: Sendable, Hashable {
    /// The number of taken permits.
    public let permits: Int
    /// For each rule of the request, the time from the decision until the first permit is due.
    ///
    /// The time is negative if the rule had permits left. With an offset of -5 intervals, the first
    /// permit and five more are due at once.
    public let offsets: [Duration]

    /// Creates a grant.
    public init(permits: Int, offsets: [Duration]) {
        self.permits = permits
        self.offsets = offsets
    }
}
