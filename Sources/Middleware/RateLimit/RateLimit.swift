// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Limits the number of requests per second.
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
public struct RateLimit: Interceptor {
    /// What shares one bucket.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// The calls to one origin.
        case origin
        /// All calls that pass the gate.
        case all
    }

    private let buckets: Buckets
    private let scope: Scope

    /// Creates a limit.
    /// - Parameters:
    ///   - perSecond: The average number of requests per second; fractions are allowed.
    ///   - burst: How many requests may go at once after a pause.
    ///   - queue: How many calls may wait, over all origins.
    ///   - scope: What shares one bucket.
    ///   - meter: Receives the number of waiting calls (`turnpike.rate_limit.waiting`) and counts
    ///     refused calls (`turnpike.rate_limit.refusals`).
    public init(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: Scope = .origin,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            buckets: Buckets(
                rate: TokenBucket.Rate(perSecond: perSecond, burst: burst), queue: queue,
                meter: meter),
            scope: scope)
    }

    init(buckets: Buckets, scope: Scope) {
        self.buckets = buckets
        self.scope = scope
    }

    /// Writes the figures of the meter, if a stack file says where to.
    public func shutdown() async { await buckets.figures.flush() }

    /// How many calls wait.
    var waiting: Int { buckets.waitingCount }

    /// What is true of this gate; see ``/TurnpikeCore/GateFacts``.
    public func facts(for request: Request?) -> GateFacts? {
        let interval = Duration.nanoseconds(buckets.rate.interval)
        let queue = buckets.queue
        var facts = GateFacts(
            "lets one request start every \(interval.text)"
                + (scope == .origin ? " to each origin" : "")
                + (queue > 0 ? "; up to \(queue) others wait in line" : ", and refuses the others"),
            .limitsRate(1, per: interval), .answers(.refusal))
        if queue > 0 {
            // The last one in line waits for its own token too.
            let (longest, overflows) = buckets.rate.interval.multipliedReportingOverflow(
                by: Int64(queue))
            facts.effects.append(
                .waits(atMost: overflows ? nil : .nanoseconds(longest), reason: "its turn"))
        }
        return facts
    }

    /// Waits for a token.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let origin = scope == .all ? Self.everywhere : request.origin
        guard let origin else { return try await next(request) }
        if let waiter = try take(origin, in: context) {
            if waiter.beginsLine { context.note(gate: name, news(of: origin)) }
            buckets.tell()
            defer { buckets.tell() }
            try await waiter.wait(in: context, for: "rate limit") { [buckets] in
                buckets.leave(origin, $0)
            }
        }
        return try await next(request)
    }

    private func take(_ origin: Origin, in context: Context) throws -> Waiter? {
        do {
            return try buckets.take(
                origin, timeLeft: context.timeLeft, timeSource: context.timeSource)
        } catch {
            buckets.figures.count(
                "turnpike.rate_limit.refusals", labels: scope == .all ? [:] : origin.meterLabels)
            throw error
        }
    }

    private func news(of origin: Origin) -> String {
        let interval = Duration.nanoseconds(buckets.rate.interval).text
        return "calls\(scope == .all ? "" : " to \(origin)") wait in line: the rate limit lets one"
            + " start every \(interval)"
    }

    private static let everywhere = Origin(scheme: "any", host: "origin", port: 0)
}

extension RateLimit: PromptlyCancellable {}

extension RateLimit {
    init(settings: Settings) {
        let perSecond = settings.optionalDouble("perSecond", in: 0.000_01...1_000_000_000)
        if perSecond == nil, settings.value("perSecond") ?? .null == .null {
            settings.issue(at: "perSecond", "is missing; expected a number of requests per second")
        }
        let rate = TokenBucket.Rate(
            perSecond: perSecond ?? 1,
            burst: settings.int("burst", default: 1, in: 1...1_000_000))
        let queue = settings.int("queue", default: 1000, in: 0...1_000_000)
        // A new rate starts with new buckets: tokens taken at a slow old rate would hold back the
        // calls at a faster new rate.
        let meter = settings.meter()
        let buckets = settings.kept(
            "buckets", for: rate,
            updating: {
                $0.update(queue: queue)
                $0.figures.move(to: meter)
            },
            { Buckets(rate: rate, queue: queue, meter: meter) })
        self.init(buckets: buckets, scope: settings.choice("scope", default: .origin))
    }
}

extension Gate where Self == RateLimit {
    /// Limits the number of requests per second; see
    /// ``RateLimit/init(perSecond:burst:queue:scope:meter:)``.
    public static func rateLimit(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(perSecond: perSecond, burst: burst, queue: queue, scope: scope, meter: meter)
    }
}
