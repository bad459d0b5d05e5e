// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
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

/// A gate that limits the rate of requests, such as ``RateLimit`` or a limit over permits from
/// elsewhere.
///
/// A conforming gate names its ``PermitSource``, and calls ``pass(_:context:next:)``.
public protocol RateLimiting: Interceptor, PromptlyCancellable {
    /// The permits of a key.
    associatedtype Source: PermitSource

    /// The permits, and the calls that wait for them.
    var limiter: KeyedLimiter<Source> { get }

    /// How requests and responses change keys and costs.
    var options: RateLimitOptions { get set }

    /// Lowers the permits left under one rule, by a server's statement.
    func lower(to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource)
}

extension RateLimiting {
    /// Takes the length of the line and the meter of another limit of the same kind; permits that
    /// were taken stay taken.
    ///
    /// A client thus keeps to its rules when its stack is replaced by one with the same rules.
    public func update(to other: any RateLimiting) {
        if let other = other as? Self { limiter.update(to: other.limiter) }
    }

    /// Charges the permits that a request cost beyond the permits it took, for callers that know
    /// the cost after a stream.
    /// - Parameters:
    ///   - permits: The number of further permits; a negative number gives permits back.
    ///   - request: The request; its origin and its key decide which quota is charged.
    ///   - timeSource: The clock of the client that made the call.
    public func charge(
        _ permits: Int, for request: Request, by timeSource: any TimeSource = SystemTimeSource()
    ) {
        guard let key = options.key(of: request) else { return }
        limiter.correct(-RateLimitOptions.clamped(permits), of: key, timeSource)
    }

    /// Lowers the permits left for the calls of this process.
    public func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) {
        _ = limiter.lower(to: permits, of: key, rule: rule, by: timeSource)
    }

    /// Waits for the permits, then runs the rest of the chain.
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
            // An inner validator may have refused a response.
            if let head = Outcome(request: request, result: .failure(error)).head {
                look(at: head, key, cost, in: context)
            }
            throw error
        }
        look(at: response.head, key, cost, in: context)
        if options.contentCost != nil { watch(response, key, cost, in: context) }
        return response
    }

    /// The calls that wait in line, and the cool-downs.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        let waiting = limiter.waitingCount
        return (limiter.cooldowns?.liveFigures(at: now) ?? []) + [
            LiveFigure("in line", "\(waiting) of \(limiter.queue)", isTrouble: waiting > 0)
        ]
    }

    /// Returns the facts that every limit states.
    /// - Parameters:
    ///   - request: The request that the facts are for, if they are for one.
    ///   - reach: Over what the limit holds, beyond this process: `, over all replicas`.
    ///   - use: What it uses beyond this process; its waits are among those for a turn.
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
            // The last one in line waits for its own permit too.
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

/// The errors of calls that a limit refuses.
enum RateLimitError {
    /// The error of a call that finds the line full.
    static func full(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait" : "the rate limit for \(key) is reached"
        return ClientError(
            .rateLimited,
            "\(reason), and the queue is full; the next request may start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    /// The error of a call whose deadline ends before its turn.
    static func late(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait, so that this call could start in \(wait.text)"
            : "the rate limit for \(key) would let this call start in \(wait.text)"
        return ClientError(
            .deadlineExceeded, "\(reason), but its deadline ends before that",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
