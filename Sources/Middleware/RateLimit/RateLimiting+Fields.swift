// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension RateLimiting {
    /// Returns the limit, corrected by header fields that state the rest of the server's quota.
    ///
    /// It reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), and
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, whose reset is a
    /// number of seconds or, if it is large, a Unix time. The remaining permits are lowered to the
    /// server's number, and never raised: a lower number shows that the account has other clients.
    /// If the server states that no permit is left until a time, and the limit honours cool-downs,
    /// a cool-down begins.
    ///
    /// A field belongs to the rule with the same period. If there is none, it belongs to the rule
    /// with the same number of permits, or else to the rule with the longest period.
    /// - Returns: The limit. It shares its quotas with this one.
    public func readsQuotaFields() -> Self {
        var copy = self
        copy.options.readsFields = true
        return copy
    }

    func readFields(of head: ResponseHead, _ key: QuotaKey, in context: Context) {
        let date = context.timeSource.date.timeIntervalSince1970
        for left in QuotaLeft.all(in: head.headers, at: date) {
            if left.permits == 0, let reset = left.reset, let cooldowns = limiter.cooldowns {
                cooldowns.begin(reset, for: key, gate: gateName, in: context)
            } else {
                lower(
                    to: left.permits, of: key, rule: left.rule(of: limiter.rules),
                    by: context.timeSource)
            }
        }
    }
}

/// The rest of a quota, from header fields.
struct QuotaLeft: Equatable {
    var permits: Int
    var reset: Duration?
    var quota: Int?
    var window: Duration?

    /// The fields of a response.
    /// - Parameters:
    ///   - headers: The header fields.
    ///   - now: The Unix time.
    /// - Returns: The rest of each quota of requests that the response names.
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

    /// The index of the rule that this rest belongs to.
    func rule(of rules: [QuotaRule]) -> Int {
        rules.firstIndex { $0.period == window }
            ?? rules.firstIndex { quota.map(Double.init) == $0.permits }
            ?? rules.indices.max { rules[$0].period < rules[$1].period } ?? 0
    }
}
