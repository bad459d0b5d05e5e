// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
public import TurnpikeStackFiles
import TurnpikeSupport
public import TurnpikeTraffic

extension Registry {
    mutating func registerRateLimit() {
        register(
            gate: "rateLimit",
            description: PartDescription(
                """
                Limits the requests by their number per second, or by several rules. Calls beyond \
                the limit wait in line, critical calls first. With `shared`, all replicas have one \
                limit together.
                """,
                settings: [
                    "perSecond":
                        "The average number of requests per second. Required without `rules`.",
                    "burst": .init(
                        "How many requests may be sent at once after a pause.", default: 1),
                    "rules": "Additional rules. A request needs the permission of every rule.",
                    "rules.permits": .init("The number of requests in a period.", isRequired: true),
                    "rules.per": "The period.",
                    "rules.burst": "How many requests may be sent at once after a pause.",
                    "shared": .shared,
                    "key": """
                    The name of the quota in the shared state, without secrets. Limits with the \
                    same name, rules and origin share one quota. Without a name, a limit shares \
                    its quota with the same limit of other replicas, but not with another limit of \
                    its stack.
                    """,
                    "cooldowns": .cooldowns, "keyHeader": .keyHeader,
                    "costHeader": """
                    The request field with the number of permits that the request takes. Without \
                    the field, a request takes one permit.
                    """,
                    "actualCostHeader": """
                    The response field with the number of permits that the call has cost. The gate \
                    corrects the permits by the difference.
                    """,
                    "readsQuotaFields": """
                    Whether `RateLimit` or `X-RateLimit-Remaining` of a response can lower the \
                    number of available permits.
                    """,
                    "queue": "The maximum number of waiting calls, for all origins together.",
                    "turnHeader": .turnHeader,
                    "scope": """
                    Whether each origin has its own limit, or all origins share one limit.
                    """,
                    "metrics": .metrics, "switch": .control,
                ],
                example: #"""
                    {"use": "rateLimit", "perSecond": 100, "burst": 10, "shared": true,
                     "rules": [{"permits": 500000, "per": 86400, "burst": 20000}]}
                    """#)
        ) { $0.switched(RateLimits.limit($0)) }
    }
}

private enum RateLimits {
    // The settings that must be equal for a new limit to keep the taken permits. A new rate begins
    // with new buckets, because old permits of a slow rate would delay the calls.
    private struct Terms: Hashable, Sendable {
        let rules: [QuotaRule]
        let scope: RateLimit.Scope
        let key: String?
        let store: ObjectIdentifier?
        let cooldowns: ObjectIdentifier?
    }

    static func limit(_ settings: Settings) -> any RateLimiting {
        let rules = rules(settings)
        let queue = settings.int("queue", default: 1000, in: 0...1_000_000)
        let part = settings.sharedPart((any SharedLimits).self)
        let key = settings.quotaName()
        let keyField = settings.quotaKeyField()
        let cooldowns = settings.cooldowns(part, keyField)
        let scope: RateLimit.Scope = settings.choice("scope", default: .origin)
        // The state retains both objects. No other object can therefore get the same identity.
        let terms = Terms(
            rules: rules, scope: scope, key: key, store: part.map { ObjectIdentifier($0) },
            cooldowns: cooldowns.map { ObjectIdentifier($0) })
        let meter = settings.meter()
        let new: any RateLimiting =
            part?.rateLimit(
                rules, queue: queue, scope: scope, key: key, cooldowns: cooldowns, meter: meter)
            ?? RateLimit(rules, queue: queue, scope: scope, cooldowns: cooldowns, meter: meter)
        var limit: any RateLimiting = settings.reloadable(
            "buckets", for: terms, updating: { $0.update(to: new) }
        ) { new }
        if let keyField { limit = limit.key { $0.headers[keyField] } }
        if let field = settings.headerName("turnHeader") {
            limit = limit.takingTurns { $0.headers[field] }
        }
        if let field = settings.headerName("costHeader") {
            limit = limit.cost { permits($0.headers[field]) ?? 1 }
        }
        if let field = settings.headerName("actualCostHeader") {
            limit = limit.actualCost { permits($0.headers[field]) }
        }
        if settings.bool("readsQuotaFields", default: false) { limit = limit.readsQuotaFields() }
        return limit
    }

    // Returns the number in a field, or nil if the field has no number.
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
                settings.issue(
                    at: "burst", "belongs to perSecond; set a burst in each rule instead")
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

/// Shared state that creates limits over all replicas, for the gate `rateLimit`.
///
/// The module `TurnpikeSharedStateStackFiles` contains an implementation.
public protocol SharedLimits: SharedGates {
    func rateLimit(
        _ rules: [QuotaRule], queue: Int, scope: RateLimit.Scope, key: String?,
        cooldowns: Cooldowns?, meter: (any GateMeter)?
    ) -> any RateLimiting
}

extension Settings {
    fileprivate func quotaName() -> String? {
        guard let key = string("key") else { return nil }
        if key.isEmpty { issue(at: "key", "found an empty text; expected the name of a quota") }
        if !usesSharedPart { issue(at: "key", "names a shared quota, which needs `shared`") }
        return key
    }
}

extension SettingDescription {
    static let turnHeader: SettingDescription = """
        The request field that names the owner of the call, such as a tenant. Waiting calls take \
        turns by the value of this field.
        """
}
