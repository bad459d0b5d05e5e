// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Actions that must follow the unlocking, because they run code of others.
struct DeferredActions {
    var served: [Waiter] = []
    var timers: [any TimerToken] = []
    var wantsAttention = false
    private var failed: [(waiter: Waiter, error: ClientError)] = []

    /// How many calls no longer wait.
    var settledCount: Int { served.count + failed.count }

    mutating func fail(_ waiter: Waiter, _ error: ClientError) { failed.append((waiter, error)) }

    func perform() {
        for timer in timers { timer.cancel() }
        for waiter in served { waiter.turn.settle(.success(())) }
        for (waiter, error) in failed { waiter.turn.settle(.failure(error)) }
    }
}

/// The errors of calls that a limit refuses.
enum RateLimitError {
    /// The error of a call that finds the line full.
    static func full(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait" : "the rate limit for \(key) is reached"
        return ClientError(
            .rateLimited,
            "\(reason), and the queue is full; the next request may start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    /// The error of a call whose deadline ends before its turn.
    static func late(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait, so this call could start only in \(wait.text)"
            : "the rate limit for \(key) lets this call start only in \(wait.text)"
        return ClientError(
            .deadlineExceeded, "\(reason), and the call's deadline comes first",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
