// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport
public import TurnpikeTraffic

/// Limits the requests per second of all replicas of a service together.
///
/// ```swift
/// let shared = SharedState(try ValkeyServer(url: "redis://cache.internal:6379/0"))
/// let client = Client(stack: [.retry(), .sharedRateLimit(perSecond: 500, burst: 50, shared: shared)])
/// ```
///
/// The gate works like ``/TurnpikeTraffic/RateLimit``, but takes permits from the store of a
/// ``SharedState``. The gate reserves a portion of permits for waiting calls, and holds a few idle
/// permits for regular calls. Unused permits are returned to the store. While the store does not
/// answer, each replica uses a share of the quota. The gate also waits for the cool-downs of the
/// state.
///
/// Two limits of one stack with the same rules have separate quotas, unless both have the same
/// `key`. See <doc:OneQuotaForManyReplicas>.
public struct SharedRateLimit: RateLimiting {
    /// The permits and the waiting calls.
    public let limiter: KeyedLimiter<LeasedPermits>
    /// The options for requests and responses.
    public var options: RateLimitOptions
    let driver: QuotaDriver

    private static let help = [
        "turnpike.rate_limit.local":
            "Quotas with local limits, because the store of shared state cannot be reached.",
        "turnpike.rate_limit.taken": "Permits taken from shared quotas.",
        "turnpike.rate_limit.given_back": "Unused permits returned to shared quotas.",
    ]

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second, which may have a fraction.
    ///   - burst: The maximum number of requests that are sent at once after a pause.
    ///   - queue: The maximum number of waiting calls in this process, for all origins together.
    ///   - scope: The requests that share one quota.
    ///   - shared: The state of the replicas.
    ///   - key: The name of the quota in the store. The name must not be a secret. Limits with the
    ///     same name, rules and origin share one quota. A limit without a name shares the quota
    ///     with equal limits of other replicas and clients, but never with a limit of the same
    ///     stack.
    ///   - cooldowns: Delays calls to an origin with a running cool-down. Nil means the cool-downs
    ///     of `shared`.
    ///   - meter: Receives the metrics of a ``/TurnpikeTraffic/RateLimit``. The meter also counts
    ///     taken permits (`turnpike.rate_limit.taken`) and returned permits
    ///     (`turnpike.rate_limit.given_back`), and receives the number of quotas with local limits
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

    /// Creates a limit with several rules.
    ///
    /// A call needs permits of every rule.
    /// - Parameters:
    ///   - rules: The rules. Without rules, every call starts at once.
    ///   - queue: The maximum number of waiting calls in this process, for all origins together.
    ///   - scope: The requests that share the quotas.
    ///   - shared: The state of the replicas.
    ///   - key: The name of the quota in the store
    ///     (``init(perSecond:burst:queue:scope:shared:key:cooldowns:meter:)``).
    ///   - cooldowns: Delays calls to an origin with a running cool-down. Nil means the cool-downs
    ///     of `shared`.
    ///   - meter: Receives the same metrics as with one rule.
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

    /// Returns reserved permits to the store, and flushes the meter.
    public func shutdown() async {
        await driver.drain(limiter)
        await driver.plan.access.flush()
        await limiter.figures.flush()
    }

    /// The properties of this gate; see ``/TurnpikeCore/GateFacts``.
    ///
    /// A wait for the store counts as a wait in line. The store's time limit ends this wait.
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

    /// Waits for the request's permits, and after the wait runs the inner gates.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        for line in driver.news.take() { context.report(line, by: gateName) }
        return try await pass(request, context: context, next: next)
    }

    /// Lowers the remaining permits of one rule, in this process and in the store.
    public func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) {
        if limiter.lower(to: permits, of: key, rule: rule, by: timeSource) {
            driver.lower(to: permits, of: key, rule: rule, by: timeSource)
        }
    }
}

extension SharedRateLimit: PlacedGate {
    /// Records the earlier limits, because each of two equal limits has its own quota.
    public func place(after others: [any PlacedGate]) {
        var outside: [QuotaDriver] = []
        for case let other as SharedRateLimit in others {
            // If a limit is in a stack twice, only the first position is used.
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

    /// Limits requests over all replicas by several rules; see
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
