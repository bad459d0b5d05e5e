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
                Limits the number of requests per second, or by several rules; more calls wait in \
                line, critical ones first. With `shared` it is one limit for all replicas.
                """,
                settings: [
                    "perSecond":
                        "The average number of requests per second. Without it, `rules` are needed.",
                    "burst": .init(
                        "How many requests may go at once after a pause.", default: 1),
                    "rules": "More limits. All must have room for a request.",
                    "rules.permits": .init("How many requests come in a period.", isRequired: true),
                    "rules.per": "The period.",
                    "rules.burst": "How many requests may go at once after a pause.",
                    "shared": .shared,
                    "key": """
                    Names the quota in the shared state, no secret: limits with the same name, rules \
                    and origin draw on one quota. Without a name, a limit shares with the same limit \
                    of other replicas, but never with another one of its stack.
                    """,
                    "cooldowns": .cooldowns, "keyHeader": .keyHeader,
                    "costHeader": """
                    The field of the request that says how many permits it takes; without the field, \
                    it takes one.
                    """,
                    "actualCostHeader": """
                    The field of the response that says how many permits the call cost in all; the \
                    difference is charged or given back.
                    """,
                    "readsQuotaFields": """
                    Whether what is left is lowered to what `RateLimit` or `X-RateLimit-Remaining` of \
                    a response says.
                    """,
                    "queue": "How many calls may wait, over all origins.",
                    "turnHeader": .turnHeader,
                    "scope": "Whether the limit is one for each origin, or one for all.",
                    "metrics": .metrics, "switch": .control,
                ],
                example: #"""
                    {"use": "rateLimit", "perSecond": 100, "burst": 10, "shared": true,
                     "rules": [{"permits": 500000, "per": 86400, "burst": 20000}]}
                    """#)
        ) { $0.switched(RateLimits.limit($0)) }
    }
}

/// Reads the settings of `rateLimit`: a limit of this process, or of the shared part.
private enum RateLimits {
    // The terms under which permits were taken. A new rate starts with new buckets: permits taken
    // at a slow old rate would hold back the calls at a faster new rate.
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
        let part = settings.sharedPart("shared") { NoSharedLimits() as any SharedLimits }
        let key = settings.quotaName(isShared: part != nil)
        let keyField = settings.quotaKeyField()
        let cooldowns = settings.cooldowns(part, keyField)
        let scope: RateLimit.Scope = settings.choice("scope", default: .origin)
        // The kept state retains both objects, so that no other object gets their identity.
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

    // The number in a field; nil if it has none.
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

/// Shared state that also has limits over all replicas, for the gate `rateLimit`.
///
/// The module `TurnpikeSharedStateStackFiles` has one.
public protocol SharedLimits: SharedGates {
    /// Makes a limit over all replicas.
    func rateLimit(
        _ rules: [QuotaRule], queue: Int, scope: RateLimit.Scope, key: String?,
        cooldowns: Cooldowns?, meter: (any GateMeter)?
    ) -> any RateLimiting
}

/// Replaces shared state with a mistake; no state is shared.
private final class NoSharedLimits: SharedLimits {
    func cooldowns(key: (@Sendable (Request) -> String?)?) -> Cooldowns { Cooldowns(key: key) }

    func rateLimit(
        _ rules: [QuotaRule], queue: Int, scope: RateLimit.Scope, key: String?,
        cooldowns: Cooldowns?, meter: (any GateMeter)?
    ) -> any RateLimiting {
        RateLimit(rules, queue: queue, scope: scope, cooldowns: cooldowns, meter: meter)
    }

    func tokens(key: String) -> (any BearerTokenSharing)? { nil }
    func shutdown() async {}
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

extension SettingDescription {
    static let turnHeader: SettingDescription = """
        The field of the request that names whose call it is, such as a tenant: of the calls that \
        wait, each value has one turn after another.
        """
}
