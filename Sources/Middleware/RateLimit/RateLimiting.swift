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
        if cost > 0, let waiter = try take(key, cost, in: context) {
            if waiter.beginsLine { context.report(news(of: key), by: gateName) }
            limiter.tell()
            defer { limiter.tell() }
            let timeSource = context.timeSource
            try await waiter.wait(in: context, for: waitName(key, context)) { [limiter] in
                limiter.leave(key, $0, timeSource)
            }
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

    /// Returns the facts that every limit states.
    /// - Parameters:
    ///   - reach: The reach of the limit beyond this process: `, over all replicas`.
    ///   - use: The effect of shared state; its waits are part of the waits for a turn.
    /// - Returns: The facts.
    public func limitFacts(reach: String = "", use: GateEffect? = nil) -> GateFacts {
        let (queue, rates) = (limiter.queue, limiter.rates)
        var facts = GateFacts(
            "lets \(rates.text("request "))\(options.scope == .origin ? " to each origin" : "")"
                + reach
                + (queue > 0 ? "; up to \(queue) others wait in line" : ", and refuses the others"))
        facts.effects =
            rates.all.map { .limitsRate(1, per: .nanoseconds($0.interval)) } + [.answers(.refusal)]
        if queue > 0 {
            // The last call in line waits for its own permit too.
            let (longest, overflows) = rates.interval.multipliedReportingOverflow(by: Int64(queue))
            facts.effects.append(
                .waits(atMost: overflows ? nil : .nanoseconds(longest), reason: "its turn"))
        }
        if let use { facts.effects.append(use) }
        if queue > 0, let longest = limiter.cooldowns?.longest {
            facts.effects.append(.waits(atMost: longest, reason: "the end of a cool-down"))
        }
        return facts
    }

    private func take(_ key: QuotaKey, _ cost: Int, in context: Context) throws -> Waiter? {
        do {
            return try limiter.take(
                key, cost: cost, deadline: context.deadline, timeSource: context.timeSource)
        } catch {
            context.report(
                count: "turnpike.rate_limit.refusals", labels: key.origin?.meterLabels ?? [:],
                of: limiter.figures)
            throw error
        }
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
