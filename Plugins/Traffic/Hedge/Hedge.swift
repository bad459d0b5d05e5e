// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Sends a request again if the response is late, and returns the first good response.
///
/// The gate sends a request twice only if the method is safe (RFC 9110 §9.2.1), the content is
/// empty or in memory, and the call is not streaming. An error or a response with 408, 429 or 5xx
/// is returned only if no other attempt gets a good response. If all attempts fail before the
/// delay, the gate sends no further attempt, because a hedge is not a retry.
///
/// When an attempt gets a good response, the gate cancels the other attempts and drops their
/// responses. Each hedge is a separate attempt, and takes a retry from the budget before the send.
/// If the budget is empty, no hedge is sent. A call has at most 12 sends, including retries.
///
/// Place this gate inside a retry gate, and outside ``/TurnpikeMiddleware/AttemptTimeout`` and
/// ``CircuitBreaker``, which then see each attempt. An inner ``/TurnpikeMiddleware/Retry`` may
/// return a response only after the content is complete. Such a response is always late.
public struct Hedge: Interceptor {
    private let delay: HedgeDelay
    private let attempts: Int
    private let budget: RetryBudget?
    private let latencies: Latencies

    /// Creates a gate that sends hedges.
    /// - Parameters:
    ///   - delay: The wait before the first hedge, and before each further hedge.
    ///   - attempts: The maximum number of attempts for one request, including the first.
    ///   - budget: The share of all calls that may be sent again, or nil for no limit. Pass the
    ///     budget of the ``/TurnpikeMiddleware/Retry`` to share one budget.
    ///   - latencies: The measurements for a percentile. Gates with the same object share these
    ///     measurements.
    public init(
        after delay: HedgeDelay = .percentile(), attempts: Int = 2,
        budget: RetryBudget? = RetryBudget(), latencies: Latencies = Latencies()
    ) {
        self.delay = delay
        self.attempts = attempts
        self.budget = budget
        self.latencies = latencies
    }

    /// Creates a gate that sends hedges after a fixed delay; see
    /// ``init(after:attempts:budget:latencies:)``.
    public init(
        after delay: Duration, attempts: Int = 2, budget: RetryBudget? = RetryBudget()
    ) {
        self.init(after: .fixed(delay), attempts: attempts, budget: budget)
    }

    /// Flushes the meter of the budget.
    public func shutdown() async { await budget?.flush() }

    /// Sends the request, and sends the request again if the response is late.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let canHedge =
            attempts > 1 && request.method.isSafe && !request.options.isStreaming
            && request.options[RetryableOption.self] != false && !request.options.isOneTime
            && request.body.inMemory != nil
        guard canHedge, let origin = request.origin else { return try await next(request) }
        budget?.deposit(for: origin, in: context)
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

    /// Reports the number of hedges, and the delay before each hedge.
    public func facts(for request: Request?) -> GateFacts? {
        guard attempts > 1 else {
            return GateFacts("sends once", passedOver: request.map { _ in "it sends once" })
        }
        let fixed: Duration? = if case .fixed(let delay) = delay.kind { delay } else { nil }
        let wait = fixed.map(\.text) ?? "as long as most answers take"
        return GateFacts(
            "sends up to \(attempts - 1) more, after \(wait), and takes the first good response",
            .hedges(copies: attempts - 1, after: fixed),
            order: [
                GateOrder(
                    .outside, .circuitBreaker,
                    because: "The breaker would count all copies of a request as one.")
            ],
            passedOver: request.flatMap(obstacle))
    }

    // Returns the reason why a request must not be sent twice, or nil.
    private func obstacle(to request: Request) -> String? {
        if !request.method.isSafe { return "\(request.method) may have an effect each time" }
        if request.options.isStreaming { return "the call streams" }
        if request.options[RetryableOption.self] == false {
            return "the call is marked as not retryable"
        }
        return request.body.inMemory == nil ? "the request's content is not in memory" : nil
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
        context.report(
            isGranted ? "sends the request again" : "the retry budget for \(origin) is spent",
            by: gateName)
        return isGranted
    }

    // If a hedge wins, the first attempt is recorded with the time until the decision. The record
    // prevents that the delay becomes shorter and shorter.
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
    /// Sends a request again if the response is late; see
    /// ``Hedge/init(after:attempts:budget:latencies:)``.
    public static func hedge(
        after delay: HedgeDelay = .percentile(), attempts: Int = 2,
        budget: RetryBudget? = RetryBudget()
    ) -> Self {
        Hedge(after: delay, attempts: attempts, budget: budget)
    }

    /// Sends a request again if the response takes longer than a fixed time; see
    /// ``Hedge/init(after:attempts:budget:latencies:)``.
    public static func hedge(
        after delay: Duration, attempts: Int = 2, budget: RetryBudget? = RetryBudget()
    ) -> Self {
        Hedge(after: delay, attempts: attempts, budget: budget)
    }
}

/// The wait before a hedge is sent.
public struct HedgeDelay: Sendable, Hashable {
    enum Kind: Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration, initially: Duration?)
    }

    let kind: Kind

    /// Returns a fixed delay.
    public static func fixed(_ delay: Duration) -> HedgeDelay { HedgeDelay(kind: .fixed(delay)) }

    /// Returns a delay that a share of the recent attempts to the same origin did not exceed.
    /// - Parameters:
    ///   - part: The share. With 0.95, the gate sends a hedge for about one call in twenty.
    ///   - atLeast: The shortest delay.
    ///   - initially: The delay for the first 20 measured attempts, or nil for no hedges during
    ///     these attempts.
    /// - Returns: The delay.
    public static func percentile(
        _ part: Double = 0.95, atLeast: Duration = .milliseconds(50), initially: Duration? = nil
    ) -> HedgeDelay {
        // A share that is not a number counts as 1.
        let part = part <= 1 ? Swift.max(part, 0) : 1
        return HedgeDelay(kind: .percentile(part, atLeast: atLeast, initially: initially))
    }
}
