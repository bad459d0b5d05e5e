// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Limits the number of requests per second, or applies several rules at once.
///
/// Each origin has a token bucket. Up to `burst` calls start at once. The other calls wait in a
/// queue. Calls of higher classes start first (``TurnpikeCore/Call/criticality(_:)``). Calls of one
/// class start in the order of arrival, or callers take turns (``RateLimiting/takingTurns(by:)``).
/// If later calls start before the oldest call, the oldest call gets one permit in 20. Every call
/// therefore starts at some time.
///
/// If the queue is full, the last call of the lowest class fails at once as
/// ``/TurnpikeCore/ClientError/Code/rateLimited``. If a call cannot start before its deadline, the
/// call fails at once as ``/TurnpikeCore/ClientError/Code/deadlineExceeded``. Both errors contain
/// ``/TurnpikeCore/ClientError/retryAfter``. If a waiting call is cancelled, the call leaves the
/// queue, and later calls move up.
///
/// An outer log gate writes a line when calls begin to wait, at most one line for each bucket in
/// ten seconds.
///
/// Inside a retry and a redirect, the gate limits the requests that a server gets. Outside a retry,
/// the gate counts each call once, without the retries of the call. If one gate is in several
/// stacks, these stacks share the buckets. The gate keeps the buckets of 1024 origins. A further
/// origin replaces the least recently used origin.
///
/// If a call is cancelled before the send, the permits are returned. A reused connection may end
/// before a response. Without a retry, the gate sends the request once more if new permits are
/// available at once.
///
/// `SharedRateLimit` of `TurnpikeSharedState` limits all replicas of a service together.
public struct RateLimit: RateLimiting {
    /// The group of calls that share one bucket.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// The calls to one origin.
        case origin
        /// All calls through the gate.
        case all
    }

    /// The buckets and the waiting calls.
    public let limiter: KeyedLimiter<TokenBuckets>
    /// The rules for the keys and costs of requests.
    public var options: RateLimitOptions

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second, which may have a fraction.
    ///   - burst: The maximum number of requests that are sent at once after a pause.
    ///   - queue: The maximum number of waiting calls to all origins together.
    ///   - scope: The group of calls that share one bucket.
    ///   - cooldowns: Delays calls to an origin with a running cool-down.
    ///   - meter: Receives the number of waiting calls (`turnpike.rate_limit.waiting`) and of
    ///     refused calls (`turnpike.rate_limit.refusals`).
    public init(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: Scope = .origin,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) {
        self.init(
            [QuotaRule(perSecond, per: .seconds(1), burst: Double(burst))], queue: queue,
            scope: scope, cooldowns: cooldowns, meter: meter)
    }

    /// Creates a limit in which a call needs permits of every rule.
    ///
    /// ```swift
    /// RateLimit([QuotaRule(10, per: .seconds(1), burst: 10), QuotaRule(5000, per: .seconds(86_400), burst: 5000)])
    /// ```
    /// - Parameters:
    ///   - rules: The rules. Without rules, every call starts at once.
    ///   - queue: The maximum number of waiting calls to all origins together.
    ///   - scope: The group of calls that share the buckets.
    ///   - cooldowns: Delays calls to an origin with a running cool-down.
    ///   - meter: Receives the same metrics as with one rule
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

    /// The help texts of each limit's metrics.
    public static let help = [
        "turnpike.rate_limit.waiting": "Calls that wait in line for their turn under a rate limit.",
        "turnpike.rate_limit.refusals":
            "Calls that a rate limit refused, because its line was full or the deadline too near.",
    ]

    /// Flushes the meter.
    public func shutdown() async { await limiter.figures.flush() }

    /// The properties of this gate; see ``/TurnpikeCore/GateFacts``.
    public func facts(for request: Request?) -> GateFacts? { limitFacts(for: request) }

    /// Waits for the request's permits, and after the wait runs the inner gates.
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

/// A gate that limits the rate of requests, such as ``RateLimit``.
///
/// A conforming gate has a ``PermitSource``, and calls ``pass(_:context:next:)``.
public protocol RateLimiting: Interceptor, PromptlyCancellable {
    /// The type of the permits of a key.
    associatedtype Source: PermitSource

    /// The permits and the waiting calls.
    var limiter: KeyedLimiter<Source> { get }

    /// The rules for the keys and costs of requests.
    var options: RateLimitOptions { get set }

    /// Lowers the remaining permits of one rule to a number from a server.
    func lower(to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource)
}

extension RateLimiting {
    /// Adopts the queue length and the meter of another limit of the same kind.
    ///
    /// Permits that were taken stay taken. The rules therefore remain effective when a client
    /// replaces its stack by a stack with the same rules.
    public func update(to other: any RateLimiting) {
        if let other = other as? Self { limiter.update(to: other.limiter) }
    }

    /// Charges additional permits for a request whose cost is known only after a stream.
    /// - Parameters:
    ///   - permits: The number of additional permits. A negative number returns permits.
    ///   - request: The request. Its origin and key identify the charged quota.
    ///   - timeSource: The clock of the client that made the call.
    public func charge(
        _ permits: Int, for request: Request, by timeSource: any TimeSource = SystemTimeSource()
    ) {
        guard let key = options.key(of: request) else { return }
        limiter.correct(-RateLimitOptions.clamped(permits), of: key, timeSource)
    }

    /// Lowers the remaining permits for the calls of this process.
    public func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) {
        _ = limiter.lower(to: permits, of: key, rule: rule, by: timeSource)
    }

    /// Waits for the permits, and after the wait runs the inner gates.
    public func pass(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let key = options.key(of: request) else { return try await next(request) }
        let cost = options.cost(of: request)
        if cost > 0, let waiter = try take(key, cost, for: request, in: context) {
            try await wait(waiter, key, in: context)
        }
        let sends = context.sendCount
        let response: Response
        let inner = context.asking(beforeResend: { [limiter, timeSource = context.timeSource] in
            guard limiter.takeNow(key, cost: cost, timeSource: timeSource) else { return nil }
            return { limiter.correct(cost, of: key, timeSource) }
        })
        do { response = try await next(request, context: inner) } catch {
            if context.sendCount == sends, ClientError.isCancellation(error) {
                limiter.correct(cost, of: key, context.timeSource)
                throw error
            }
            // If an inner validator has refused a response, the error contains the head.
            if let head = Outcome(request: request, result: .failure(error)).head {
                look(at: head, key, cost, in: context)
            }
            throw error
        }
        look(at: response.head, key, cost, in: context)
        if options.contentCost != nil { watch(response, key, cost, in: context) }
        return response
    }

    /// The waiting calls and the cool-downs.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        let waiting = limiter.waitingCount
        return (limiter.cooldowns?.liveFigures(at: now) ?? []) + [
            LiveFigure("in line", "\(waiting) of \(limiter.queue)", isTrouble: waiting > 0)
        ]
    }

    /// Returns the facts that are common to all limits (``/TurnpikeCore/GateFacts``).
    /// - Parameters:
    ///   - request: The request, or nil for facts about any request.
    ///   - reach: The words for a limit beyond this process, such as `, over all replicas`.
    ///   - use: The effect of state beyond this process. A wait for this state counts as a wait in
    ///     line.
    /// - Returns: The facts.
    public func limitFacts(
        for request: Request?, reach: String = "", use: GateEffect? = nil
    ) -> GateFacts {
        let (queue, rates) = (limiter.queue, limiter.rates)
        let takesTurns = options.turnKey != nil
        var facts = GateFacts(
            "lets \(rates.text("request "))\(options.scope == .origin ? " to each origin" : "")"
                + reach
                + (queue > 0
                    ? "; up to \(queue) others wait in line"
                        + WaitingLine.text(of: request, takesTurns: takesTurns)
                    : ", and refuses the others"))
        facts.effects =
            rates.all.map { .limitsRate(1, per: .nanoseconds($0.interval)) } + [.answers(.refusal)]
        if queue > 0 {
            // The last call in line waits for its own permit too.
            let turns = WaitingLine.mostTurns(of: request, queue: queue, takesTurns: takesTurns)
            let (longest, overflows) = rates.interval.multipliedReportingOverflow(by: turns)
            facts.effects.append(
                .waits(atMost: overflows ? nil : .nanoseconds(longest), reason: "its turn"))
        }
        if let use { facts.effects.append(use) }
        if queue > 0, let longest = limiter.cooldowns?.longest {
            facts.effects.append(.waits(atMost: longest, reason: "the end of a cool-down"))
        }
        return facts
    }

    private func take(
        _ key: QuotaKey, _ cost: Int, for request: Request, in context: Context
    ) throws -> Waiter? {
        do {
            return try limiter.take(
                key, Precedence(of: request, by: options.turnKey), cost: cost,
                deadline: context.deadline, timeSource: context.timeSource)
        } catch {
            countRefusal(key, in: context)
            throw error
        }
    }

    private func wait(_ waiter: Waiter, _ key: QuotaKey, in context: Context) async throws {
        if waiter.beginsLine { context.report(news(of: key), by: gateName) }
        limiter.tell()
        defer { limiter.tell() }
        let timeSource = context.timeSource
        do {
            try await waiter.wait(in: context, for: waitName(key, context)) { [limiter] in
                limiter.leave(key, $0, timeSource)
            }
        } catch let error where ClientError.Code.rateLimited ~= error {
            countRefusal(key, in: context)
            throw error
        }
    }

    private func countRefusal(_ key: QuotaKey, in context: Context) {
        context.report(
            count: "turnpike.rate_limit.refusals", labels: key.origin?.meterLabels ?? [:],
            of: limiter.figures)
    }

    private func waitName(_ key: QuotaKey, _ context: Context) -> String {
        limiter.cooldowns?.end(of: key, at: context.timeSource.now) == nil
            ? "rate limit" : "cool-down"
    }

    private func news(of key: QuotaKey) -> String {
        "calls\(options.scope == .all ? "" : " to \(key)") wait in line: the rate limit lets"
            + " \(limiter.rates.text(""))"
    }
}

enum RateLimitError {
    static func full(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) asks for a wait" : "the rate limit for \(key) is reached"
        return ClientError(
            .rateLimited,
            "\(reason), and the queue is full; the next request may start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    static func late(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) asks for a wait, and this call could start in \(wait.text)"
            : "the rate limit for \(key) would let this call start in \(wait.text)"
        return ClientError(
            .deadlineExceeded, "\(reason), but the deadline of the call ends before that",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
