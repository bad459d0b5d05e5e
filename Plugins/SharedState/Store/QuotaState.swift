// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport
import TurnpikeTraffic

/// The state of a shared quota, with the theoretical arrival times (``SharedStore``).
///
/// All times are nanoseconds of the store's clock. The times are floating-point numbers, because an
/// interval may be shorter than a nanosecond.
struct QuotaState: Sendable {
    // The theoretical arrival time of each rule, by identity. A rule without an arrival time has
    // all permits.
    private var arrivals: [String: Double] = [:]
    // The time of the last change of the arrival times.
    private var changed = -Double.infinity

    // A permit that is due within a nanosecond counts as due, because the addition of intervals is
    // inexact. Without this tolerance, the store might refuse a caller at the reported time.
    private static let tolerance = 1.0

    /// The time when all rules have all permits, and this state can be removed.
    var end: Double { arrivals.values.max() ?? -.infinity }

    mutating func take(_ request: QuotaRequest, at now: Double) -> QuotaAnswer {
        let reach = Self.nanoseconds(request.reach)
        let rules = request.rules
        prepare(at: now)
        let offsets = rules.map { rule in
            arrival(of: rule, at: now) - now - (rule.burst - 1) * rule.nanosecondsPerPermit
        }
        let first = offsets.max() ?? 0
        guard first <= reach + Self.tolerance else {
            return .exhausted(retryAfter: Self.duration(first))
        }
        var permits = request.maximum
        for (rule, offset) in zip(rules, offsets) {
            let due = (reach + Self.tolerance - offset) / rule.nanosecondsPerPermit + 1
            // The comparison prevents an overflow in the conversion to `Int`.
            if due < Double(permits) { permits = Int(due) }
        }
        permits = max(permits, request.minimum, 1)
        for rule in rules {
            arrivals[rule.identity] =
                arrival(of: rule, at: now) + Double(permits) * rule.nanosecondsPerPermit
        }
        return .granted(QuotaGrant(permits: permits, offsets: offsets.map(Self.duration)))
    }

    mutating func giveBack(_ permits: Int, rules: [QuotaRule], at now: Double) {
        prepare(at: now)
        for rule in rules {
            let interval = rule.nanosecondsPerPermit
            let present = arrival(of: rule, at: now)
            let arrival = present - Double(permits) * interval
            if permits > 0 {
                arrivals[rule.identity] = max(arrival, now)
            } else {
                let longest = 2 * rule.burst * interval + Self.nanoseconds(rule.period)
                arrivals[rule.identity] = max(present, min(arrival, now + longest))
            }
        }
    }

    mutating func lower(to remaining: Double, rule index: Int, rules: [QuotaRule], at now: Double) {
        guard rules.indices.contains(index), remaining < rules[index].burst else { return }
        prepare(at: now)
        let rule = rules[index]
        let missing = rule.burst - max(remaining, 0)
        arrivals[rule.identity] = max(
            arrival(of: rule, at: now), now + missing * rule.nanosecondsPerPermit)
    }

    mutating func left(of rule: QuotaRule, at now: Double) -> Double {
        prepare(at: now)
        return rule.burst - (arrival(of: rule, at: now) - now) / rule.nanosecondsPerPermit
    }

    private func arrival(of rule: QuotaRule, at now: Double) -> Double {
        arrivals[rule.identity] ?? now
    }

    // After its arrival time, a rule has all permits. If the clock goes back, arrival times do too.
    private mutating func prepare(at now: Double) {
        let back = max(changed - now, 0)
        changed = now
        arrivals = arrivals.compactMapValues { $0 - back > now ? $0 - back : nil }
    }

    private static func nanoseconds(_ duration: Duration) -> Double {
        Double(duration.wholeNanoseconds)
    }

    // The result is rounded up, because no permit must be used too early.
    private static func duration(_ nanoseconds: Double) -> Duration {
        let whole = (nanoseconds - 0.01).rounded(.up)
        return .nanoseconds(Int64(exactly: whole) ?? (whole < 0 ? .min : .max))
    }
}
