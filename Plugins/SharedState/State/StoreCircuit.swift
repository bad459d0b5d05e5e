// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides whether operations are sent, because an unreachable store must not delay calls.
///
/// After three failures in a row, no operation is sent for 100 ms. After the pause, one operation
/// is tried as a test. While the test runs, no other operation is sent. If the test fails, the
/// pause doubles. The longest pause is a quarter of a second. All replicas therefore return at
/// nearly the same time. With a longer pause, some replicas would use the whole quota while others
/// still use shares.
public struct StoreCircuit: Sendable {
    private enum State: Sendable {
        case closed(failures: Int)
        case open(until: MonotonicInstant, pause: Duration)
        case trying(since: MonotonicInstant, pause: Duration)
    }

    private var state = State.closed(failures: 0)

    private static let failureLimit = 3
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.milliseconds(250)

    /// Creates a closed circuit.
    public init() {}

    /// Whether operations are sent without a test of the store.
    public var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Returns the earliest time for the next operation, or nil if an operation may be admitted
    /// now.
    ///
    /// While a test runs, the result is the time after which the test counts as lost.
    public func nextAdmission(at now: MonotonicInstant) -> MonotonicInstant? {
        let next: MonotonicInstant
        switch state {
        case .closed: return nil
        case .open(let until, _): next = until
        case .trying(let since, _): next = since.advanced(by: Self.longestPause)
        }
        return now < next ? next : nil
    }

    /// Decides whether an operation may be sent.
    ///
    /// After an admitted operation, call ``record(_:at:)`` or ``abandon(at:)``.
    /// - Parameter now: The current time. A closed circuit does not evaluate this argument.
    /// - Returns: Whether the operation may be sent.
    public mutating func admit(at now: @autoclosure () -> MonotonicInstant) -> Bool {
        if isClosed { return true }
        let now = now()
        switch state {
        case .closed: return true
        case .open(let until, let pause):
            if now < until { return false }
            state = .trying(since: now, pause: pause)
            return true
        case .trying(let since, let pause):
            // A test without a recorded end must not keep the circuit open forever.
            if since.duration(to: now) < Self.longestPause { return false }
            state = .trying(since: now, pause: pause)
            return true
        }
    }

    /// Records that an admitted operation ended without a verdict on the store.
    ///
    /// In this case, another operation may be tried at once.
    public mutating func abandon(at now: MonotonicInstant) {
        if case .trying(_, let pause) = state { state = .open(until: now, pause: pause) }
    }

    /// Records the end of an admitted operation.
    /// - Parameters:
    ///   - hasAnswered: Whether the store answered in time and without an error.
    ///   - now: The current time, needed only after a failure.
    /// - Returns: Whether this result opens or closes the circuit.
    @discardableResult
    public mutating func record(
        _ hasAnswered: Bool, at now: @autoclosure () -> MonotonicInstant
    ) -> Bool {
        switch (state, hasAnswered) {
        case (.closed, true):
            state = .closed(failures: 0)
            return false
        case (.trying, true), (.open, true):
            state = .closed(failures: 0)
            return true
        case (.closed(let failures), false):
            if failures + 1 < Self.failureLimit {
                state = .closed(failures: failures + 1)
                return false
            }
            state = .open(until: now().advanced(by: Self.firstPause), pause: Self.firstPause)
            return true
        case (.trying(_, let pause), false):
            let next = min(pause * 2, Self.longestPause)
            state = .open(until: now().advanced(by: next), pause: next)
            return false
        case (.open, false): return false
        }
    }
}
