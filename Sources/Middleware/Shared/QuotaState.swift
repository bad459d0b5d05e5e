// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The state of a shared quota: for each rule, when it would be whole again (``QuotaStore``).
///
/// All times are nanoseconds of the store's clock. An interval may be shorter than one nanosecond,
/// so they are floating-point numbers.
struct QuotaState: Sendable {
    // The theoretical arrival time of each rule; a rule without one is whole.
    private var arrivals: [Double] = []
    // When that was last changed.
    private var changed = -Double.infinity

    // Additions of intervals are not exact. What is due within a nanosecond counts as due, so that a
    // caller that waits as long as it was told is not refused.
    private static let tolerance = 1.0

    /// When all rules are whole, and the state need not be kept.
    var end: Double { arrivals.max() ?? -.infinity }

    /// Takes permits, or none.
    mutating func take(_ request: QuotaRequest, at now: Double) -> QuotaAnswer {
        let reach = Self.nanoseconds(request.reach)
        let rules = request.rules
        prepare(rules.count, at: now)
        let offsets = rules.indices.map { index in
            arrivals[index] - now - (rules[index].burst - 1) * rules[index].nanosecondsPerPermit
        }
        let first = offsets.max() ?? 0
        guard first <= reach + Self.tolerance else {
            return .exhausted(retryAfter: Self.duration(first))
        }
        var permits = request.maximum
        for (rule, offset) in zip(rules, offsets) {
            let due = (reach + Self.tolerance - offset) / rule.nanosecondsPerPermit + 1
            // The comparison also keeps the conversion in range.
            if due < Double(permits) { permits = Int(due) }
        }
        permits = max(permits, request.minimum, 1)
        for (index, rule) in rules.enumerated() {
            arrivals[index] += Double(permits) * rule.nanosecondsPerPermit
        }
        return .granted(QuotaGrant(permits: permits, offsets: offsets.map(Self.duration)))
    }

    /// Gives permits back, or charges more of them if the number is negative.
    mutating func giveBack(_ permits: Int, rules: [QuotaRule], at now: Double) {
        prepare(rules.count, at: now)
        for (index, rule) in rules.enumerated() {
            let interval = rule.nanosecondsPerPermit
            let arrival = arrivals[index] - Double(permits) * interval
            if permits > 0 {
                arrivals[index] = max(arrival, now)
            } else {
                let longest = 2 * rule.burst * interval + Self.nanoseconds(rule.period)
                arrivals[index] = max(arrivals[index], min(arrival, now + longest))
            }
        }
    }

    /// Lowers the permits that are left under a rule.
    mutating func lower(to remaining: Double, rule index: Int, rules: [QuotaRule], at now: Double) {
        guard rules.indices.contains(index), remaining < rules[index].burst else { return }
        prepare(rules.count, at: now)
        let missing = rules[index].burst - max(remaining, 0)
        arrivals[index] = max(arrivals[index], now + missing * rules[index].nanosecondsPerPermit)
    }

    /// How many permits are left under a rule; negative if some are reserved ahead.
    mutating func left(of rule: QuotaRule, _ index: Int, at now: Double) -> Double {
        prepare(index + 1, at: now)
        return rule.burst - (arrivals[index] - now) / rule.nanosecondsPerPermit
    }

    // A rule is whole from its arrival time on. If the clock has gone back, the arrival times go back
    // with it.
    private mutating func prepare(_ count: Int, at now: Double) {
        let back = max(changed - now, 0)
        changed = now
        for index in arrivals.indices { arrivals[index] = max(arrivals[index] - back, now) }
        while arrivals.count < count { arrivals.append(now) }
    }

    private static func nanoseconds(_ duration: Duration) -> Double {
        Double(duration.wholeNanoseconds)
    }

    // Rounded up, because a permit must not be used early; but not because of an inexact addition.
    private static func duration(_ nanoseconds: Double) -> Duration {
        let whole = (nanoseconds - 0.01).rounded(.up)
        return .nanoseconds(Int64(exactly: whole) ?? (whole < 0 ? .min : .max))
    }
}
