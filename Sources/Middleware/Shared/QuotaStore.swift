// SPDX-License-Identifier: Apache-2.0

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
/// The state belongs to the key of the quota and to the ``QuotaRule/identity`` of the rule, not to the
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
