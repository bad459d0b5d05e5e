// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeTraffic

/// A way to handle failures: the stack of each client.
enum Strategy: String, CaseIterable, Sendable {
    /// Retries without a wait.
    case naive = "naive retry"
    /// Retries after a random wait below a bound that doubles.
    case backoff = "back-off"
    /// Retries after such a wait, but only for a share of the calls.
    case budget = "back-off, budget"
    /// The same as `budget`, and sends fewer requests to a server that fails or is slow.
    case guarded = "budget, breaker, limit"
    /// The same as `budget`, and sends only the share of the calls that the server can serve.
    case admitted = "budget, admission"
    /// The same as `admitted`, with one gate for all clients, as in one process.
    case shared = "budget, shared admission"

    /// Returns a closure that creates the stack of each client of a run.
    func stacks() -> @Sendable () -> Stack {
        switch self {
        case .naive:
            return {
                Self.stack(
                    Retry(attempts: 4, backoff: Backoff(base: .zero, jitter: .none), budget: nil))
            }
        case .backoff: return { Self.stack(Retry(attempts: 4, budget: nil)) }
        case .budget: return { Self.stack(Self.retryInBudget) }
        case .guarded:
            return {
                Self.stack(
                    Self.retryInBudget,
                    CircuitBreaker(
                        minimum: 5, window: .seconds(10), open: .seconds(2), maxOpen: .seconds(8),
                        probes: 1),
                    ConcurrencyLimit(
                        perOrigin: 16, queue: 0, adaptive: AdaptiveLimit(initial: 4)))
            }
        case .admitted: return { Self.stack(Self.retryInBudget, AdmissionControl()) }
        case .shared:
            let admission = AdmissionControl()
            return { Self.stack(Self.retryInBudget, admission) }
        }
    }

    /// The common part of all strategies: a call has 10 s and 4 attempts of 1 s each.
    static func stack(_ retry: Retry, _ gates: any Gate...) -> Stack {
        Stack([Deadline(.seconds(10)), Validate(), retry] + gates + [AttemptTimeout(.seconds(1))])
    }

    /// A retry for a tenth of the calls.
    static var retryInBudget: Retry {
        // The floor applies to each client. With 200 clients, the default would allow 2000 retries
        // a second.
        Retry(attempts: 4, budget: RetryBudget(ratio: 0.1, floorPerSecond: 0.1))
    }
}
