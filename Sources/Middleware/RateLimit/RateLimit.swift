public import TurnpikeCore

/// Sends no more than so many requests a second.
///
/// A token bucket for each origin: calls up to `burst` pass at once, the others wait in line, first
/// come first served, until it is their turn. A call for which there is no place in line fails as
/// ``/TurnpikeCore/ClientError/Code/rateLimited``, one whose turn would come after its deadline as
/// ``/TurnpikeCore/ClientError/Code/deadlineExceeded``, both at once and with
/// ``/TurnpikeCore/ClientError/retryAfter``. A call that is cancelled in line leaves it, and those
/// behind it move up.
///
/// Inside a retry and a redirect it limits what the server sees; outside a retry it limits calls,
/// and their retries come on top. A gate that stands in several stacks is one limit. Of more than
/// 1024 origins the one unused for longest is forgotten.
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
    ///   - perSecond: The requests a second in the long run, fractions allowed.
    ///   - burst: How many may go at once after a pause.
    ///   - queue: How many calls may wait, to all origins together.
    ///   - scope: What shares one bucket.
    ///   - meter: Is told how many calls wait (`turnpike.rate_limit.waiting`), and of refused ones
    ///     (`turnpike.rate_limit.refusals`).
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

    /// Writes what the meter holds, where a stack file named the place.
    public func shutdown() async { await buckets.figures.flush() }

    /// How many calls wait.
    public var waiting: Int { buckets.waitingCount }

    /// Waits for a token.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let origin = scope == .all ? Self.everywhere : request.origin
        guard let origin else { return try await next(request) }
        if let waiter = try take(origin, in: context) {
            context.note(gate: name, "waits for the rate limit")
            buckets.tell()
            defer { buckets.tell() }
            try await waiter.wait(in: context) { [buckets] in buckets.leave(origin, $0) }
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

    private static let everywhere = Origin(scheme: "any", host: "origin", port: 0)
}

extension RateLimit: Heeding {}

extension Gate where Self == RateLimit {
    /// Sends no more than so many requests a second; see
    /// ``RateLimit/init(perSecond:burst:queue:scope:meter:)``.
    public static func rateLimit(
        perSecond: Double, burst: Int = 1, queue: Int = 1000, scope: RateLimit.Scope = .origin,
        meter: (any GateMeter)? = nil
    ) -> Self {
        RateLimit(perSecond: perSecond, burst: burst, queue: queue, scope: scope, meter: meter)
    }
}
