// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Waiters for conditions on changing facts; guarded by the lock of those facts.
struct Waiters<Facts> {
    /// Settled when the condition holds or the waiter is cancelled.
    typealias Moment = OneShot<Void>

    private var entries: [(condition: @Sendable (Facts) -> Bool, moment: Moment)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a waiter, or returns nil if the condition already holds.
    mutating func add(
        _ facts: Facts, _ condition: @escaping @Sendable (Facts) -> Bool
    ) -> Moment? {
        if condition(facts) { return nil }
        let moment = Moment()
        entries.append((condition, moment))
        return moment
    }

    /// Removes the waiters whose conditions hold and returns them, to be settled outside the lock.
    mutating func takeReady(_ facts: Facts) -> [Moment] {
        var ready: [Moment] = []
        entries.removeAll { entry in
            guard entry.condition(facts) else { return false }
            ready.append(entry.moment)
            return true
        }
        return ready
    }

    /// Removes a waiter that no longer waits.
    mutating func remove(_ moment: Moment) { entries.removeAll { $0.moment === moment } }
}

extension OneShot<Void> {
    /// Waits until the moment is settled.
    ///
    /// A cancelled task runs the closure `leave` and then settles the moment.
    /// - Parameters:
    ///   - limit: How long to wait at most, in real time.
    ///   - what: Returns what is waited for.
    ///   - leave: Removes the waiter.
    /// - Throws: ``WaitExpired`` after the limit.
    func wait(
        upTo limit: Duration, for what: @escaping @Sendable () -> String,
        leaving leave: @escaping @Sendable (OneShot<Void>) -> Void
    ) async throws {
        let timer = SystemTimeSource().schedule(after: limit) { [self] in
            leave(self)
            settle(.failure(WaitExpired(after: limit, for: what())))
        }
        defer { timer.cancel() }
        try await value { [self] in
            leave(self)
            settle(.success(()))
        }
    }
}

extension [OneShot<Void>] {
    /// Settles all moments.
    func settle() { for moment in self { moment.settle(.success(())) } }
}
