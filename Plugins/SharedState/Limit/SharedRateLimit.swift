// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Limits the number of requests per second over all replicas of a service, which draw on one quota.
///
/// ```swift
/// let shared = SharedState(try ValkeyServer(url: "redis://cache.internal:6379/0"))
/// let client = Client(stack: [.retry(), .sharedRateLimit(perSecond: 500, burst: 50, shared: shared)])
/// ```
///
/// It passes calls as ``/TurnpikeMiddleware/RateLimit`` does, but takes their permits from the store of
/// a ``SharedState``: for calls that wait a portion ahead, and for calls that come regularly a few that
/// it holds idle. What is not used is given back. While the store has no answer, each replica goes on
/// with its share of the quota. It honours the cool-downs of the state.
///
/// Two limits of one stack with the same rules have two quotas, unless they have the same name. See
/// <doc:OneQuotaForManyReplicas>.
public struct SharedRateLimit: RateLimiting {
    /// The permits, and the calls that wait for them.
    public let limiter: KeyedLimiter<LeasedPermits>
    /// What it asks of requests and responses.
    public var options: RateLimitOptions
    let driver: QuotaDriver

    private static let help = [
        "turnpike.rate_limit.local":
            "Quotas that go on locally, because the store of shared state is away.",
        "turnpike.rate_limit.taken": "Permits that were taken from shared quotas.",
        "turnpike.rate_limit.given_back": "Permits that were given back to shared quotas unused.",
    ]

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second; fractions are allowed.
    ///   - burst: How many requests may go at once after a pause.
    ///   - queue: How many calls may wait in this process, over all origins.
    ///   - scope: What shares one quota.
    ///   - shared: The state of the replicas.
    ///   - key: Names the quota in the store, no secret: limits with the same name, rules and origin
    ///     draw on one quota. Without a name, a limit shares with those of other replicas and clients
    ///     that have the same rules, but never with another limit of its stack.
    ///   - cooldowns: Holds calls back while their origin has asked to wait; nil means those of
    ///     `shared`.
    ///   - meter: Receives what a ``/TurnpikeMiddleware/RateLimit`` tells, counts permits that were
    ///     taken (`turnpike.rate_limit.taken`) and given back unused
    ///     (`turnpike.rate_limit.given_back`), and receives the number of quotas that go on locally
    ///     (`turnpike.rate_limit.local`).
    public init(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            [QuotaRule(perSecond, per: .seconds(1), burst: Double(burst))], queue: queue,
            scope: scope, shared: shared, key: key, cooldowns: cooldowns, meter: meter)
    }

    /// Creates a limit with several rules, all of which must have room.
    /// - Parameters:
    ///   - rules: The rules. Without any, everything passes.
    ///   - queue: How many calls may wait in this process, over all origins.
    ///   - scope: What shares the quotas.
    ///   - shared: The state of the replicas.
    ///   - key: Names the quota in the store
    ///     (``init(perSecond:burst:queue:scope:shared:key:cooldowns:meter:)``).
    ///   - cooldowns: Holds calls back while their origin has asked to wait; nil means those of
    ///     `shared`.
    ///   - meter: Receives the same figures as with one rule.
    public init(
        _ rules: [QuotaRule], queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) {
        let figures = GateFigures(meter, help: RateLimit.help.merging(Self.help) { $1 })
        let plan = QuotaPlan(rules, access: shared.access, key: key)
        let driver = QuotaDriver(plan, figures: figures)
        self.driver = driver
        limiter = KeyedLimiter(
            plan.rules, queue: queue, cooldowns: cooldowns ?? shared.cooldowns, figures: figures,
            attendant: { driver.attend($0, $1, by: $2) }
        ) { LeasedPermits(plan) }
        options = RateLimitOptions(scope: scope)
    }

    /// Gives back what was reserved in the store, and has the meter pass on what it holds.
    public func shutdown() async {
        await driver.drain(limiter)
        await driver.plan.access.flush()
        await limiter.figures.flush()
    }

    /// What is true of this gate; see ``/TurnpikeCore/GateFacts``.
    ///
    /// Waits for the store are among those for a turn: they last for its time limit at most.
    public func facts(for request: Request?) -> GateFacts? {
        let plan = driver.plan
        var facts = limitFacts(
            for: request, reach: ", over all replicas" + (plan.key.map { ", as “\($0)”" } ?? ""),
            use: plan.access.use(.counts))
        if plan.key != nil {
            facts.sharedQuotas = Set(
                plan.storedRules.map { "\(plan.access.group)|\(options.scope)|\($0.identity)" })
        }
        return facts
    }

    /// Waits for its permits.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        for line in driver.news.take() { context.report(line, by: gateName) }
        return try await pass(request, context: context, next: next)
    }

    /// Lowers what is left under one rule, here and in the store.
    public func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) {
        if limiter.lower(to: permits, of: key, rule: rule, by: timeSource) {
            driver.lower(to: permits, of: key, rule: rule, by: timeSource)
        }
    }
}

extension SharedRateLimit: PlacedGate {
    /// Learns which limits stand before it, so that two with the same rules have two quotas.
    public func place(after others: [any PlacedGate]) {
        var outside: [QuotaDriver] = []
        for case let other as SharedRateLimit in others {
            // The place of a limit that stands in a stack twice is the first one.
            if other.driver === driver { return }
            if !outside.contains(where: { $0 === other.driver }) { outside.append(other.driver) }
        }
        driver.plan.place(after: outside.map(\.plan))
    }
}

extension Gate where Self == SharedRateLimit {
    /// Limits requests over all replicas; see
    /// ``SharedRateLimit/init(perSecond:burst:queue:scope:shared:key:cooldowns:meter:)``.
    public static func sharedRateLimit(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        SharedRateLimit(
            perSecond: perSecond, burst: burst, queue: queue, scope: scope, shared: shared,
            key: key, cooldowns: cooldowns, meter: meter)
    }

    /// Limits requests over all replicas by several rules at once; see
    /// ``SharedRateLimit/init(_:queue:scope:shared:key:cooldowns:meter:)``.
    public static func sharedRateLimit(
        _ rules: [QuotaRule], queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        SharedRateLimit(
            rules, queue: queue, scope: scope, shared: shared, key: key, cooldowns: cooldowns,
            meter: meter)
    }
}
