// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Limits the number of requests per second, or by several rules at once.
///
/// Each origin has a token bucket. Up to `burst` calls pass at once; the others wait in line. Calls of
/// higher classes go first (``TurnpikeCore/Call/criticality(_:)``), and among those of one class it is
/// first come, first served, or callers take turns (``RateLimiting/takingTurns(by:)``). Nothing
/// starves: one permit in 20 goes to the call that has waited longest, if others went before it.
///
/// A call fails at once, with ``/TurnpikeCore/ClientError/retryAfter``, in two cases: as
/// ``/TurnpikeCore/ClientError/Code/rateLimited`` if the line is full and it is the last call of the
/// lowest class, and as ``/TurnpikeCore/ClientError/Code/deadlineExceeded`` if its turn would come after
/// its deadline. A call that is cancelled in line leaves it, and the calls behind it move up.
///
/// A log outside of the gate has a line when calls begin to wait, not a line for each call. In ten
/// seconds, it has at most one such line for each bucket.
///
/// Placed inside a retry and a redirect, it limits the requests that a server sees. Placed outside
/// a retry, it limits calls and does not count their retries. A gate used in several stacks is one
/// shared limit. It keeps the buckets of 1024 origins; beyond that, it drops the least recently
/// used bucket.
///
/// A call that is cancelled before its request is sent gives its permits back. Without a retry, a
/// request is sent once more if its kept-alive connection ended before an answer and its permits
/// are available at once.
///
/// For one quota over all replicas of a service there is `SharedRateLimit` in `TurnpikeSharedState`.
public struct RateLimit: RateLimiting {
    /// Which calls share one bucket.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// The calls to one origin.
        case origin
        /// All calls that pass the gate.
        case all
    }

    /// The buckets and the waiting calls.
    public let limiter: KeyedLimiter<TokenBuckets>
    /// How requests and responses change keys and costs.
    public var options: RateLimitOptions

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second; fractions are allowed.
    ///   - burst: How many requests may go at once after a pause.
    ///   - queue: How many calls may wait, over all origins.
    ///   - scope: The group of calls that share one bucket.
    ///   - cooldowns: Holds calls back while their origin has asked to wait.
    ///   - meter: Receives the number of waiting calls (`turnpike.rate_limit.waiting`) and counts
    ///     refused calls (`turnpike.rate_limit.refusals`).
    public init(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: Scope = .origin,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) {
        self.init(
            [QuotaRule(perSecond, per: .seconds(1), burst: Double(burst))], queue: queue,
            scope: scope, cooldowns: cooldowns, meter: meter)
    }

    /// Creates a limit with several rules; a call needs permits of all rules.
    ///
    /// ```swift
    /// RateLimit([QuotaRule(10, per: .seconds(1), burst: 10), QuotaRule(5000, per: .seconds(86_400), burst: 5000)])
    /// ```
    /// - Parameters:
    ///   - rules: The rules. Without any, everything passes.
    ///   - queue: How many calls may wait, over all origins.
    ///   - scope: The group of calls that share the buckets.
    ///   - cooldowns: Holds calls back while their origin has asked to wait.
    ///   - meter: Receives the same figures as with one rule
    ///     (``init(perSecond:burst:queue:scope:cooldowns:meter:)``).
    public init(
        _ rules: [QuotaRule], queue: Int = 1000, scope: Scope = .origin,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) {
        let rates = PermitRates(rules)
        limiter = KeyedLimiter(
            rules, queue: queue, cooldowns: cooldowns,
            figures: GateFigures(meter, help: Self.help)
        ) { TokenBuckets(rates) }
        options = RateLimitOptions(scope: scope)
    }

    /// The help texts of each limit's figures.
    public static let help = [
        "turnpike.rate_limit.waiting": "Calls that wait in line for their turn under a rate limit.",
        "turnpike.rate_limit.refusals":
            "Calls that a rate limit refused: its line was full, or the deadline too near.",
    ]

    /// Flushes the meter.
    public func shutdown() async { await limiter.figures.flush() }

    /// What is true of this gate; see ``/TurnpikeCore/GateFacts``.
    public func facts(for request: Request?) -> GateFacts? { limitFacts(for: request) }

    /// Waits for its permits.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        try await pass(request, context: context, next: next)
    }
}

extension Gate where Self == RateLimit {
    /// Limits the number of requests per second; see
    /// ``RateLimit/init(perSecond:burst:queue:scope:cooldowns:meter:)``.
    public static func rateLimit(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(
            perSecond: perSecond, burst: burst, queue: queue, scope: scope, cooldowns: cooldowns,
            meter: meter)
    }

    /// Limits requests by several rules at once; see
    /// ``RateLimit/init(_:queue:scope:cooldowns:meter:)``.
    public static func rateLimit(
        _ rules: [QuotaRule], queue: Int = 1000, scope: RateLimit.Scope = .origin,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(rules, queue: queue, scope: scope, cooldowns: cooldowns, meter: meter)
    }
}
