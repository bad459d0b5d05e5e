// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

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
