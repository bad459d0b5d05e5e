// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Limits the number of requests per second, or by several rules at once.
///
/// Each origin has a token bucket. Up to `burst` calls pass at once; the others wait in line, first
/// come, first served. A call fails at once, with ``/TurnpikeCore/ClientError/retryAfter``, in two
/// cases: as ``/TurnpikeCore/ClientError/Code/rateLimited`` if the line is full, and as
/// ``/TurnpikeCore/ClientError/Code/deadlineExceeded`` if its turn would come after its deadline. A
/// call that is cancelled in line leaves it, and the calls behind it move up.
///
/// A log outside of the gate has a line when calls begin to wait, not one for each call: at most
/// one in ten seconds for each bucket.
///
/// Placed inside a retry and a redirect, it limits the requests that a server sees. Placed outside
/// a retry, it limits calls and does not count their retries. A gate used in several stacks is one
/// shared limit. It keeps the buckets of 1024 origins and drops the least recently used one beyond
/// that.
///
/// A call that is cancelled before its request is sent gives its permits back. Without a retry, a
/// request whose kept-alive connection ended before an answer is sent once more only if there are
/// permits for it at once.
///
/// With `shared` all replicas of a service draw on one quota; see <doc:OneQuotaForManyReplicas>.
public struct RateLimit: Interceptor {
    /// What shares one bucket.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// The calls to one origin.
        case origin
        /// All calls that pass the gate.
        case all
    }

    let lines: QuotaLines
    let scope: Scope
    var options = QuotaOptions()

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second; fractions are allowed.
    ///   - burst: How many requests may go at once after a pause.
    ///   - queue: How many calls may wait, over all origins.
    ///   - scope: What shares one bucket.
    ///   - shared: Makes it one limit for all replicas; nil limits this process.
    ///   - key: Names the quota in the store of `shared`, no secret: limits with the same name, rules
    ///     and origin draw on one quota. Without a name, a limit shares with those of other replicas
    ///     and clients that have the same rules, but never with another limit of its stack.
    ///   - cooldowns: Holds calls back while their origin has asked to wait; nil means those of
    ///     `shared`.
    ///   - meter: Receives the number of waiting calls (`turnpike.rate_limit.waiting`) and counts
    ///     refused calls (`turnpike.rate_limit.refusals`). With `shared` it also counts permits that
    ///     were taken (`turnpike.rate_limit.taken`) and returned unused
    ///     (`turnpike.rate_limit.given_back`), and receives the number of quotas that go on locally
    ///     (`turnpike.rate_limit.local`).
    public init(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: Scope = .origin,
        shared: SharedState? = nil, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            [QuotaRule(perSecond, per: .seconds(1), burst: Double(burst))], queue: queue,
            scope: scope, shared: shared, key: key, cooldowns: cooldowns, meter: meter)
    }

    /// Creates a limit with several rules, all of which must have room.
    ///
    /// ```swift
    /// RateLimit([QuotaRule(10, per: .seconds(1), burst: 10), QuotaRule(5000, per: .seconds(86_400), burst: 5000)])
    /// ```
    /// - Parameters:
    ///   - rules: The rules. Without any, everything passes.
    ///   - queue: How many calls may wait, over all origins.
    ///   - scope: What shares the buckets.
    ///   - shared: Makes it one limit for all replicas; nil limits this process.
    ///   - key: Names the quota in the store of `shared`, no secret: limits with the same name, rules
    ///     and origin draw on one quota. Without a name, a limit shares with those of other replicas
    ///     and clients that have the same rules, but never with another limit of its stack.
    ///   - cooldowns: Holds calls back while their origin has asked to wait; nil means those of
    ///     `shared`.
    ///   - meter: Receives the same figures as with one rule
    ///     (``init(perSecond:burst:queue:scope:shared:key:cooldowns:meter:)``).
    public init(
        _ rules: [QuotaRule], queue: Int = 1000, scope: Scope = .origin,
        shared: SharedState? = nil, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) {
        lines = QuotaLines(
            rules, queue: queue, shared: shared, key: key, cooldowns: cooldowns, meter: meter)
        self.scope = scope
    }

    /// Takes the length of the line and the meter of another limit; permits that were taken stay so.
    ///
    /// So a client whose stack is replaced by one with the same rules keeps to them.
    public func update(to other: RateLimit) { lines.update(to: other.lines) }

    /// Returns what was reserved in a shared quota, and has the meter pass on what it holds.
    public func shutdown() async {
        await lines.drain()
        await lines.plan.access?.flush()
        await lines.figures.flush()
    }

    /// How many calls wait.
    var waiting: Int { lines.waitingCount }

    /// Waits for its permits.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let key = key(of: request) else { return try await next(request) }
        for line in lines.news.take() { context.note(gate: gateName, line) }
        let cost = options.cost(of: request)
        if cost > 0, let waiter = try take(key, cost, in: context) {
            if waiter.beginsLine { context.note(gate: gateName, news(of: key)) }
            lines.tell()
            defer { lines.tell() }
            let timeSource = context.timeSource
            try await waiter.wait(in: context, for: waitName(key, context)) { [lines] in
                lines.leave(key, $0, timeSource)
            }
        }
        let sends = context.sendCount
        let response: Response
        let inner = context.asking(beforeResend: { [lines, timeSource = context.timeSource] in
            guard lines.takeNow(key, cost: cost, timeSource: timeSource) else { return nil }
            return { lines.correct(cost, of: key, timeSource) }
        })
        do { response = try await next(request, context: inner) } catch {
            if context.sendCount == sends, ClientError.isCancellation(error) {
                lines.correct(cost, of: key, context.timeSource)
                throw error
            }
            // A validator further in may have refused a response.
            if let head = Outcome(request: request, result: .failure(error)).head {
                look(at: head, key, cost, in: context)
            }
            throw error
        }
        look(at: response.head, key, cost, in: context)
        if options.contentCost != nil { watch(response, key, cost, in: context) }
        return response
    }

    /// Whose quota a request uses; nil if there is no limit for it.
    func key(of request: Request) -> QuotaKey? {
        let part = options.key?(request)
        if scope == .all { return QuotaKey(origin: nil, part: part) }
        return request.origin.map { QuotaKey(origin: $0, part: part) }
    }

    private func take(_ key: QuotaKey, _ cost: Int, in context: Context) throws -> Waiter? {
        do {
            return try lines.take(
                key, cost: cost, deadline: context.deadline, timeSource: context.timeSource)
        } catch {
            lines.figures.count(
                "turnpike.rate_limit.refusals", labels: key.origin?.meterLabels ?? [:])
            throw error
        }
    }

    private func waitName(_ key: QuotaKey, _ context: Context) -> String {
        lines.cooldowns?.end(of: key, at: context.timeSource.now) == nil
            ? "rate limit" : "cool-down"
    }

    private func news(of key: QuotaKey) -> String {
        "calls\(scope == .all ? "" : " to \(key)") wait in line: the rate limit lets"
            + " \(lines.plan.rates.text(""))"
    }
}

extension RateLimit: PromptlyCancellable {}

extension RateLimit: PlacedGate {
    /// Learns which limits stand before it, so that two with the same rules have two quotas.
    public func place(after others: [any PlacedGate]) {
        var outside: [QuotaLines] = []
        for case let other as RateLimit in others {
            // The place of a limit that stands in a stack twice is the first one.
            if other.lines === lines { return }
            if !outside.contains(where: { $0 === other.lines }) { outside.append(other.lines) }
        }
        lines.plan.place(after: outside.map(\.plan))
    }
}

extension Gate where Self == RateLimit {
    /// Limits the number of requests per second; see
    /// ``RateLimit/init(perSecond:burst:queue:scope:shared:key:cooldowns:meter:)``.
    public static func rateLimit(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState? = nil, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(
            perSecond: perSecond, burst: burst, queue: queue, scope: scope, shared: shared,
            key: key, cooldowns: cooldowns, meter: meter)
    }

    /// Limits requests by several rules at once; see
    /// ``RateLimit/init(_:queue:scope:shared:key:cooldowns:meter:)``.
    public static func rateLimit(
        _ rules: [QuotaRule], queue: Int = 1000, scope: RateLimit.Scope = .origin,
        shared: SharedState? = nil, key: String? = nil, cooldowns: Cooldowns? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(
            rules, queue: queue, scope: scope, shared: shared, key: key, cooldowns: cooldowns,
            meter: meter)
    }
}
