// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension RateLimit {
    // What permits were taken under. A new rate starts with new buckets: permits taken at a slow old
    // rate would hold back the calls at a faster new rate.
    private struct Terms: Hashable, Sendable {
        let rules: [QuotaRule]
        let key: String?
        let store: ObjectIdentifier?
        let cooldowns: ObjectIdentifier?
    }

    init(settings: Settings) {
        let rules = Self.rules(settings)
        let queue = settings.int("queue", default: 1000, in: 0...1_000_000)
        let state = settings.sharedState()
        let key = settings.quotaName(isShared: state != nil)
        let keyField = settings.quotaKeyField()
        let cooldowns = Cooldowns.ofStack(settings, state, keyField)
        let meter = settings.meter()
        // Both objects belong to the kept state, so that no other one has their identity.
        let terms = Terms(
            rules: rules, key: key, store: state.map { ObjectIdentifier($0.access) },
            cooldowns: cooldowns.map { ObjectIdentifier($0) })
        let lines = settings.kept(
            "buckets", for: terms,
            updating: {
                $0.update(queue: queue)
                $0.figures.move(to: meter)
            },
            {
                QuotaLines(
                    rules, queue: queue, shared: state, key: key, cooldowns: cooldowns,
                    meter: meter)
            })
        var limit = RateLimit(lines: lines, scope: settings.choice("scope", default: .origin))
        if let keyField { limit = limit.key { $0.headers[keyField] } }
        if let field = settings.headerName("costHeader") {
            limit = limit.cost { Self.permits($0.headers[field]) ?? 1 }
        }
        if let field = settings.headerName("actualCostHeader") {
            limit = limit.actualCost { Self.permits($0.headers[field]) }
        }
        if settings.bool("readsQuotaFields", default: false) { limit = limit.readsQuotaFields() }
        self = limit
    }

    // A number that a field tells; nil if it tells none.
    private static func permits(_ value: String?) -> Int? {
        value.flatMap { Int(Grammar.trimmed($0)) }.map { max($0, 0) }
    }

    private static func rules(_ settings: Settings) -> [QuotaRule] {
        let perSecond = settings.optionalDouble("perSecond", in: 0.000_01...1_000_000_000)
        let burst = settings.optionalInt("burst", in: 1...1_000_000)
        let more = (settings.list("rules") ?? []).enumerated().map { index, value in
            let place = "rules[\(index)]"
            guard let object = value.object else {
                settings.issue(at: place, "expected an object with permits, per and burst")
                return QuotaRule(1, per: .seconds(1))
            }
            let inner = settings.nested(object, at: place)
            defer { inner.finish() }
            return rule(inner)
        }
        if settings.value("perSecond") ?? .null == .null {
            if more.isEmpty {
                settings.issue(
                    at: "perSecond",
                    "is missing; expected a number of requests per second, or else rules")
            } else if burst != nil {
                settings.issue(at: "burst", "belongs to perSecond; write it into the rules")
            }
            if !more.isEmpty { return more }
        }
        return [QuotaRule(perSecond ?? 1, per: .seconds(1), burst: Double(burst ?? 1))] + more
    }

    private static func rule(_ settings: Settings) -> QuotaRule {
        let permits = settings.optionalDouble("permits", in: 0.000_01...1e12)
        if permits == nil, settings.value("permits") ?? .null == .null {
            settings.issue(at: "permits", "is missing; expected a number of requests in a period")
        }
        return QuotaRule(
            permits ?? 1, per: settings.seconds("per", default: .seconds(1)),
            burst: Double(settings.int("burst", default: 1, in: 1...1_000_000_000)))
    }
}

extension Settings {
    // The name of a shared quota.
    fileprivate func quotaName(isShared: Bool) -> String? {
        guard let key = string("key") else { return nil }
        if key.isEmpty { issue(at: "key", "found an empty text; expected the name of a quota") }
        if !isShared { issue(at: "key", "names a shared quota; it needs `shared`") }
        return key
    }
}
