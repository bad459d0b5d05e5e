// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The error of a test that has waited too long, with the condition in its description.
public struct WaitExpired: Error, Sendable, CustomStringConvertible {
    /// The condition and the time of the wait.
    public let description: String

    /// Creates an error.
    /// - Parameters:
    ///   - limit: The duration of the wait.
    ///   - what: The condition for which the test waited.
    public init(after limit: Duration, for what: String) {
        description = "waited \(limit.text) for \(what)"
    }
}

/// Waiters for conditions on changing facts, protected by the lock of these facts.
struct Waiters<Facts> {
    /// The object that is settled when the condition holds or the waiter is cancelled.
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

    /// Removes and returns the waiters whose conditions hold, to be settled outside of the lock.
    mutating func takeReady(_ facts: Facts) -> [Moment] {
        var ready: [Moment] = []
        entries.removeAll { entry in
            guard entry.condition(facts) else { return false }
            ready.append(entry.moment)
            return true
        }
        return ready
    }

    mutating func remove(_ moment: Moment) { entries.removeAll { $0.moment === moment } }
}

extension OneShot<Void> {
    /// Waits until the moment is settled, or throws ``WaitExpired`` after a limit of real time.
    ///
    /// A cancelled task runs the closure `leave`, and afterwards settles the moment. The limit
    /// consists of ten parts. Each part ends after all ready tasks have run. The time of a
    /// suspended or overloaded machine therefore does not count.
    func wait(
        upTo limit: Duration, for what: @escaping @Sendable () -> String,
        leaving leave: @escaping @Sendable (OneShot<Void>) -> Void
    ) async throws {
        // This task is cancelled below, at the end of the wait.
        let watch = Task { [self] in
            for _ in 0..<10 {
                try await Self.pass(limit / 10)
                for _ in 0..<100 { await Task.yield() }
            }
            try Task.checkCancellation()
            leave(self)
            settle(.failure(WaitExpired(after: limit, for: what())))
        }
        defer { watch.cancel() }
        try await value { [self] in
            leave(self)
            settle(.success(()))
        }
    }
}

extension OneShot<Void> {
    private static func pass(_ time: Duration) async throws {
        let moment = OneShot<Void>()
        let timer = SystemTimeSource().schedule(after: time) { moment.settle(.success(())) }
        defer { timer.cancel() }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }
}

extension [OneShot<Void>] {
    func settle() { for moment in self { moment.settle(.success(())) } }
}
