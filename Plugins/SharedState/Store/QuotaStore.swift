// SPDX-License-Identifier: Apache-2.0

public import TurnpikeTraffic

/// Stores quotas that several replicas share.
///
/// The state of a rule is one number, the theoretical arrival time (TAT) of the generic cell rate
/// algorithm (ITU-T I.371): the time when all permits of the quota will be back. `i` is the
/// interval of the rule, `b` its burst, and `now` the time of the store's own clock:
///
/// - The permit number `k` of a request, from 0, is due at `max(TAT, now) + k·i - (b - 1)·i`. A
///   request with several rules waits for the latest of these times.
/// - If the first permit of a rule is due later than `now + reach`, no rule loses a permit.
/// - Otherwise all permits that are due within the reach are taken, at least
///   ``QuotaRequest/minimum`` and at most ``QuotaRequest/maximum``. TAT becomes `max(TAT, now) +
///   n·i` for each rule.
/// - During a cool-down of the same key (``CooldownStore``), nothing is taken.
///
/// A request with a small reach does not touch permits that other requests have reserved further
/// ahead. If the store's clock has gone back, as after a failover to a slower clock, TAT goes back
/// too. For this, a store keeps the time of the last change beside TAT, and subtracts the
/// difference.
///
/// The state belongs to the key of the quota and to the ``/TurnpikeTraffic/QuotaRule/identity``
/// of the rule, not to the rule's position in a list. A rule with another period, number or burst
/// is another rule, and starts with all its permits. The old rule's state ends when all its permits
/// are back.
public protocol QuotaStore: Sendable {
    /// Takes permits, or none.
    func take(_ request: QuotaRequest) async throws -> QuotaAnswer

    /// Changes how many permits remain, without making a decision.
    /// - Parameters:
    ///   - permits: How many unused permits to return. If negative, how many more to charge,
    ///     because a call cost more than expected. A charge moves TAT at most two bursts and a
    ///     period ahead, so that a wrong cost does not stop all calls forever.
    ///   - key: The key of the quota.
    ///   - rules: Its rules. A return never exceeds the burst of a rule.
    /// - Throws: An error if the store does not answer.
    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws

    /// Lowers the remaining permits of one rule, after a report of the quota's server.
    ///
    /// Nothing changes if fewer permits are already left.
    /// - Parameters:
    ///   - remaining: The most permits that remain.
    ///   - key: The key of the quota.
    ///   - rule: The index of the rule.
    ///   - rules: The rules of the quota.
    /// - Throws: An error if the store does not answer.
    func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws
}

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
    /// Nothing was taken, because a cool-down of the same key lasts this long (``CooldownStore``).
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
