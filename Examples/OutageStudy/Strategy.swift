// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// A way to handle failures: the stack of each client.
enum Strategy: String, CaseIterable, Sendable {
    /// Retries at once.
    case naive = "naive retry"
    /// Retries after a random wait below a bound that doubles.
    case backoff = "back-off"
    /// Retries after such a wait, and only a share of the calls.
    case budget = "back-off, budget"
    /// The same, and sends less to a server that fails or is slow.
    case guarded = "budget, breaker, limit"

    /// What all strategies share: a call has 10 s and 4 attempts of 1 s each.
    func stack() -> Stack {
        let retry: Retry =
            switch self {
            case .naive:
                Retry(attempts: 4, backoff: Backoff(base: .zero, jitter: .none), budget: nil)
            case .backoff: Retry(attempts: 4, budget: nil)
            // Each client has this floor: with 200 clients, the default would allow 2000 retries a
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
                ConcurrencyLimit(
                    perOrigin: 16, queue: 0, adaptive: AdaptiveLimit(initial: 4))
            }
            AttemptTimeout(.seconds(1))
        }
    }
}
