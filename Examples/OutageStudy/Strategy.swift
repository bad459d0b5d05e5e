package import Turnpike

/// A way of meeting failures: the stack of each client.
package enum Strategy: String, CaseIterable, Sendable {
    /// Tries again at once.
    case naive = "naive retry"
    /// Tries again after a while, drawn from a bound that doubles.
    case backoff = "back-off"
    /// Tries again after a while, and only a part of the calls.
    case budget = "back-off, budget"
    /// The same, and asks a server that fails or is slow for less.
    case guarded = "budget, breaker, limit"

    /// What all have in common: a call has 10 s, an attempt 1 s, and there are 4 of them.
    package func stack() -> Stack {
        let retry: Retry =
            switch self {
            case .naive:
                Retry(attempts: 4, backoff: Backoff(base: .zero, jitter: .none), budget: nil)
            case .backoff: Retry(attempts: 4, budget: nil)
            // The floor is each client's: with 200 of them the default would allow 2000 retries a
            // second.
            case .budget, .guarded:
                Retry(attempts: 4, budget: RetryBudget(ratio: 0.1, floorPerSecond: 0.1))
            }
        return Stack {
            Deadline(.seconds(10))
            Validate()
            retry
            if self == .guarded {
                CircuitBreaker(
                    minimum: 5, window: .seconds(10), open: .seconds(2), maxOpen: .seconds(8),
                    probes: 1)
                ConcurrencyLimit(perOrigin: 16, adaptive: AdaptiveLimit(initial: 4))
            }
            AttemptTimeout(.seconds(1))
        }
    }
}
