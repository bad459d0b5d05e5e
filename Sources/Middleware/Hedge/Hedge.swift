public import TurnpikeCore

/// Sends a request a second time when the answer is late, and takes the answer that comes first.
///
/// Only safe methods (RFC 9110 §9.2.1) whose content, if any, is in memory are sent twice; calls
/// that stream are not. The first good answer wins; a 408, 429 or 5xx, or an error, waits for a better
/// one while other attempts are under way, and stands if none comes. A hedge is no retry: when all
/// attempts have failed before the delay, no other is sent.
///
/// When an answer wins, the other attempts are cancelled and their responses given up. The winner's
/// body lives as long as its reader wants. Each hedge is an attempt of its own, and draws from the
/// budget before it is sent; a spent budget sends none. At most 12 sends make a call, retries
/// included.
///
/// Place it inside a retry, and outside ``AttemptTimeout`` and ``CircuitBreaker``, which then see
/// each attempt. Outside a retry an answer may come when its content has (``Retry``), and counts
/// as late until then.
public struct Hedge: Interceptor {
    private let delay: HedgeDelay
    private let attempts: Int
    private let budget: RetryBudget?
    private let latencies: Latencies

    /// Creates a gate that hedges.
    /// - Parameters:
    ///   - delay: When a hedge is sent, and each one after it.
    ///   - attempts: The most attempts of one pass, the first one included.
    ///   - budget: What part of all calls may be sent again; give it the ``Retry``'s own, so that
    ///     both draw from one. nil sets no bound.
    public init(
        after delay: HedgeDelay = .percentile(), attempts: Int = 2,
        budget: RetryBudget? = RetryBudget()
    ) {
        self.init(after: delay, attempts: attempts, budget: budget, latencies: Latencies())
    }

    /// Creates a gate that hedges after a fixed time; see ``init(after:attempts:budget:)``.
    public init(
        after delay: Duration, attempts: Int = 2, budget: RetryBudget? = RetryBudget()
    ) {
        self.init(after: .fixed(delay), attempts: attempts, budget: budget)
    }

    init(after delay: HedgeDelay, attempts: Int, budget: RetryBudget?, latencies: Latencies) {
        self.delay = delay
        self.attempts = attempts
        self.budget = budget
        self.latencies = latencies
    }

    /// Writes what the budget's meter holds, where a stack file named the place.
    public func shutdown() async { await budget?.flush() }

    /// Sends the request, and again when the answer is late.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let canHedge =
            attempts > 1 && request.method.isSafe && !request.options.isStreaming
            && request.options[RetryableOption.self] != false && !request.options.isOneTime
            && request.body.inMemory != nil
        guard canHedge, let origin = request.origin else { return try await next(request) }
        budget?.depositForHedge(origin, in: context)
        let begin = context.timeSource.now
        let response: Response
        if let delay = delay(for: origin, at: begin) {
            let race = HedgeRace(request, context, next, limit: attempts, delay: delay)
            response = try await race.run {
                mayLaunch(origin, context)
            } giveBack: {
                budget?.giveBack(for: origin, at: context.timeSource.now)
            }
        } else {
            response = try await next(request)
        }
        record(since: begin, origin, context)
        return response
    }

    private func delay(for origin: Origin, at now: MonotonicInstant) -> Duration? {
        switch delay.kind {
        case .fixed(let delay): delay
        case .percentile(let part, let atLeast, let initially):
            latencies.percentile(part, origin, at: now).map { max($0, atLeast) } ?? initially
        }
    }

    private func mayLaunch(_ origin: Origin, _ context: Context) -> Bool {
        let isGranted = budget?.withdraw(for: origin, at: context.timeSource.now) ?? true
        context.note(
            gate: name,
            isGranted ? "sends the request again" : "the retry budget for \(origin) is spent")
        return isGranted
    }

    // Where a hedge won, the first attempt counts with the time that it had: were it left out, the
    // delay would creep down.
    private func record(since begin: MonotonicInstant, _ origin: Origin, _ context: Context) {
        guard case .percentile = delay.kind else { return }
        let now = context.timeSource.now
        latencies.record(begin.duration(to: now), origin, at: now)
    }

    static func isBad(_ status: HTTPStatus) -> Bool {
        status.code >= 500 || status == 408 || status == 429
    }
}

extension Gate where Self == Hedge {
    /// Sends a request a second time when the answer is late; see
    /// ``Hedge/init(after:attempts:budget:)-(HedgeDelay,_,_)``.
    public static func hedge(
        after delay: HedgeDelay = .percentile(), attempts: Int = 2,
        budget: RetryBudget? = RetryBudget()
    ) -> Self {
        Hedge(after: delay, attempts: attempts, budget: budget)
    }

    /// Sends a request a second time when the answer takes longer than a fixed time; see
    /// ``Hedge/init(after:attempts:budget:)-(HedgeDelay,_,_)``.
    public static func hedge(
        after delay: Duration, attempts: Int = 2, budget: RetryBudget? = RetryBudget()
    ) -> Self {
        Hedge(after: delay, attempts: attempts, budget: budget)
    }
}
