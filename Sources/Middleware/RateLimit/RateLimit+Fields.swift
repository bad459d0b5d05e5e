// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension RateLimit {
    /// Returns the limit with corrections from header fields in which the server says what is left of
    /// its quota.
    ///
    /// It reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), and
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, whose reset is a number
    /// of seconds or, if it is large, a Unix time. What is left is lowered to what the server says,
    /// never raised: another client of the same account is thus noticed. If the server says that
    /// nothing is left until a time, a cool-down begins, if the limit honours cool-downs.
    ///
    /// A field belongs to the rule with the same period, or else the same number of permits, or else
    /// to the rule with the longest period.
    /// - Returns: The limit. It shares its quotas with this one.
    public func readsQuotaFields() -> RateLimit {
        var copy = self
        copy.options.readsFields = true
        return copy
    }

    func readFields(of head: ResponseHead, _ key: QuotaKey, in context: Context) {
        let date = context.timeSource.date.timeIntervalSince1970
        for left in QuotaLeft.all(in: head.headers, at: date) {
            if left.permits == 0, let reset = left.reset, let cooldowns = lines.cooldowns {
                cooldowns.begin(reset, for: key, gate: gateName, in: context)
            } else {
                lines.lower(
                    to: left.permits, of: key, rule: left.rule(of: lines.plan.rules),
                    context.timeSource)
            }
        }
    }
}

/// What is left of a quota, as header fields say.
struct QuotaLeft: Equatable {
    var permits: Int
    var reset: Duration?
    var quota: Int?
    var window: Duration?

    /// The fields of a response.
    /// - Parameters:
    ///   - headers: The header fields.
    ///   - now: The Unix time.
    /// - Returns: What is left of each quota of requests that the response names.
    static func all(in headers: HTTPHeaders, at now: Double) -> [QuotaLeft] {
        let limits = headers.rateLimits
        if limits.isEmpty { return older(in: headers, at: now).map { [$0] } ?? [] }
        let policies = headers.rateLimitPolicies
        return limits.compactMap { limit in
            let policy = policies.first {
                $0.name == limit.policy && $0.partitionKey == limit.partitionKey
            }
            guard policy.map({ $0.unit == "requests" }) ?? true else { return nil }
            return QuotaLeft(
                permits: max(limit.availableQuota, 0), reset: limit.effectiveWindow,
                quota: policy?.quota, window: policy?.window)
        }
    }

    private static func older(in headers: HTTPHeaders, at now: Double) -> QuotaLeft? {
        guard let remaining = number("X-RateLimit-Remaining", headers) else { return nil }
        // Seconds from now on, or a Unix time: no quota has a period of thirty years.
        let reset = number("X-RateLimit-Reset", headers).flatMap { reset -> Duration? in
            let left = reset >= 1e9 ? reset - now : reset
            return left > 0 && left < 1e9 ? .milliseconds(Int64(left * 1000)) : nil
        }
        return QuotaLeft(
            permits: Int(min(remaining, 1e12)), reset: reset,
            quota: number("X-RateLimit-Limit", headers).map { Int(min($0, 1e12)) }, window: nil)
    }

    private static func number(_ name: HTTPHeaders.Name, _ headers: HTTPHeaders) -> Double? {
        guard let text = headers[name]?.split(separator: ",").first,
            let number = Double(Grammar.trimmed(text)), number >= 0, number.isFinite
        else { return nil }
        return number
    }

    /// The index of the rule that it belongs to.
    func rule(of rules: [QuotaRule]) -> Int {
        rules.firstIndex { $0.period == window }
            ?? rules.firstIndex { quota.map(Double.init) == $0.permits }
            ?? rules.indices.max { rules[$0].period < rules[$1].period } ?? 0
    }
}

extension QuotaLines {
    /// Lowers what is left under one rule.
    func lower(to permits: Int, of key: QuotaKey, rule: Int, _ timeSource: any TimeSource) {
        let now = timeSource.now.nanoseconds
        let isShared = state.withLock { state in
            state.lines.update(key, orMake: QuotaLine(plan)) { line in
                line.lower(to: permits, rule: rule, at: now)
            }
        }
        guard isShared, let access = plan.access else { return }
        let (rules, text) = (plan.storedRules, key.text(in: access.group))
        // Ends by itself, within the time limit, and nobody waits for it.
        _ = Task.inheriting { [news] in
            _ = try? await access.ask(
                "a correction", by: timeSource, limit: nil, tell: { news.add($0) },
                late: { (_: Bool) in }
            ) { store in
                try await store.lower(to: Double(permits), of: text, rule: rule, rules: rules)
                return true
            }
        }
    }
}
