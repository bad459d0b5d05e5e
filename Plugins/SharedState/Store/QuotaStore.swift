// SPDX-License-Identifier: Apache-2.0

public import TurnpikeMiddleware

/// Keeps quotas on which several replicas draw.
///
/// The state of a rule is one number, the theoretical arrival time (TAT) of the generic cell rate
/// algorithm (ITU-T I.371): when the quota would be whole again. With `i` the interval of the rule,
/// `b` its burst, and `now` the time of the store's own clock:
///
/// - The permit number `k` of a request, from 0, is due at `max(TAT, now) + k·i - (b - 1)·i`. A
///   request with several rules waits for the latest one.
/// - If the first permit of a rule is due later than `now + reach`, nothing is taken, from no rule.
/// - Otherwise as many permits are taken as are due within the reach, at least
///   ``QuotaRequest/minimum`` and at most ``QuotaRequest/maximum``, and TAT becomes
///   `max(TAT, now) + n·i` for each rule.
/// - A cool-down of the same key (``CooldownStore``) comes first: while it holds, nothing is taken.
///
/// A request with a small reach leaves what other requests have reserved further ahead. If the store's
/// clock has gone back, as after a failover to a server whose clock is behind, TAT goes back with it:
/// a store keeps the time of the last change beside TAT, and subtracts the difference.
///
/// The state belongs to the key of the quota and to the ``/TurnpikeMiddleware/QuotaRule/identity`` of the rule, not to the
/// rule's place in a list. A rule with another period, number or burst is another rule and begins
/// anew; the state of the old one ends when it is whole.
public protocol QuotaStore: Sendable {
    /// Takes permits, or none.
    func take(_ request: QuotaRequest) async throws -> QuotaAnswer

    /// Changes how many permits are left, without a decision.
    /// - Parameters:
    ///   - permits: How many permits to give back, because they were not used; if negative, how many
    ///     more to charge, because a call cost more than was thought. A charge puts TAT no further
    ///     ahead than two bursts and a period, so that a wrong cost does not stop all calls for ever.
    ///   - key: The key of the quota.
    ///   - rules: Its rules. Given back, permits make none of them more than whole.
    /// - Throws: An error if the store has no answer.
    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws

    /// Lowers the permits that are left under one rule, as the server that sets the quota has told.
    ///
    /// It has no effect if fewer are left.
    /// - Parameters:
    ///   - remaining: How many are left at most.
    ///   - key: The key of the quota.
    ///   - rule: The index of the rule.
    ///   - rules: The rules of the quota.
    /// - Throws: An error if the store has no answer.
    func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws
}

/// What a replica asks of a shared quota.
public struct QuotaRequest: Sendable, Hashable {
    /// Whose quota it is: an origin, a tenant, an account.
    ///
    /// The store keeps one state for each key and rule. It may contain any text without secrets.
    public var key: String
    /// The limits of the quota, each once; all must have room.
    ///
    /// The store keeps the state of each by its ``/TurnpikeMiddleware/QuotaRule/identity``.
    public var rules: [QuotaRule]
    /// The fewest permits that are of use, such as the cost of one call; at least 1.
    public var minimum: Int
    /// The most permits that are of use.
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

/// How a shared quota answers a request.
public enum QuotaAnswer: Sendable, Hashable {
    /// Permits were taken.
    case granted(QuotaGrant)
    /// Nothing was taken: the first permit would come later than the request's
    /// ``QuotaRequest/reach``. It comes after this time.
    case exhausted(retryAfter: Duration)
    /// Nothing was taken: a cool-down of the same key holds for this time (``CooldownStore``).
    case coolingDown(Duration)
}

/// Permits that were taken from a shared quota, each of which may be used from a moment on.
public struct QuotaGrant: Sendable, Hashable {
    /// How many permits were taken.
    public let permits: Int
    /// For each rule of the request, the time from the decision until the first permit is due.
    ///
    /// It is negative if permits were left: with -5 intervals, five more permits after the first one
    /// are due at once.
    public let offsets: [Duration]

    /// Creates a grant.
    public init(permits: Int, offsets: [Duration]) {
        self.permits = permits
        self.offsets = offsets
    }
}
