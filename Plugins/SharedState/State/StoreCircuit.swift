// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides whether a store is asked at all, so that one that is away costs nothing for each call.
///
/// After three failures in a row nothing is asked for 100 ms. Then one operation tries; while it is
/// under way, and for twice the time after it failed, nothing else is asked. The longest pause is a
/// quarter of a second. It is short because all replicas must return to a store at nearly the same
/// time: those that are back may use the whole quota while others still use their shares.
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

    /// Whether operations pass without being tries.
    public var isClosed: Bool { if case .closed = state { true } else { false } }

    /// When an operation may be admitted next; nil if one may be now.
    ///
    /// While a try is under way, that is when the try counts as lost.
    public func nextAdmission(at now: MonotonicInstant) -> MonotonicInstant? {
        let next: MonotonicInstant
        switch state {
        case .closed: return nil
        case .open(let until, _): next = until
        case .trying(let since, _): next = since.advanced(by: Self.longestPause)
        }
        return now < next ? next : nil
    }

    /// Decides on an operation.
    ///
    /// An admitted one must be followed by ``record(_:at:)`` or ``abandon(at:)``.
    /// - Parameter now: The current time, which a closed circuit does not ask for.
    /// - Returns: Whether the store may be asked.
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
            // A try that was never recorded must not keep the circuit open for ever.
            if since.duration(to: now) < Self.longestPause { return false }
            state = .trying(since: now, pause: pause)
            return true
        }
    }

    /// Records that an admitted operation was given up before it said anything about the store, so
    /// that another one may try at once.
    public mutating func abandon(at now: MonotonicInstant) {
        if case .trying(_, let pause) = state { state = .open(until: now, pause: pause) }
    }

    /// Records how an admitted operation ended.
    /// - Parameters:
    ///   - hasAnswered: Whether the store answered, in time and without a fault of its own.
    ///   - now: The current time, which matters only if it has not.
    /// - Returns: Whether the circuit opens or closes by it.
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
