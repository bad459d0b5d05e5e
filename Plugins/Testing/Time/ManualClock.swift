// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// A time source that only a test advances.
///
/// ```swift
/// let clock = ManualClock()
/// let client = Client(transport: transport, stack: stack, timeSource: clock)
/// async let answer = client.get("slow").data()
/// try await clock.waitForTimer(in: .seconds(30))  // the call has begun to wait
/// clock.advance(by: .seconds(30))
/// ```
///
/// ``advance(by:)`` runs the due handlers in order. Each handler sees the time for which the
/// handler was scheduled.
///
/// From the beginning, a call has a timer for each time limit. A test that waits for any timer may
/// advance the clock before the right timer exists, and may wait forever. Wait for a specific
/// timer (``waitForTimer(in:limit:)``), or use a ``Simulation``. A wait of this clock ends after 10
/// seconds of real time, with an error that lists the existing timers.
public final class ManualClock: TimeSource {
    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var date: Date
        var heap = TimerHeap()
        var waiters = Waiters<Timers>()
    }

    private struct Timers {
        let heap: TimerHeap
        let now: MonotonicInstant

        func contains(_ duration: Duration) -> Bool {
            heap.dues.contains {
                now.duration(to: MonotonicInstant(nanoseconds: $0)) == duration
            }
        }
    }

    private let state: Mutex<State>

    /// Creates a clock.
    /// - Parameter date: The wall-clock time at the start, which advances with the clock.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        state = Mutex(State(date: date))
    }

    /// The current time, starting at zero.
    public var now: MonotonicInstant { state.withLock { $0.now } }

    /// The current wall-clock time.
    public var date: Date { state.withLock { $0.date } }

    /// The number of scheduled timers.
    public var timerCount: Int { state.withLock { $0.heap.count } }

    /// Schedules a handler, which ``advance(by:)`` runs.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        let (timer, ready) = state.withLock { state in
            let due = state.now.advanced(by: max(delay, .zero))
            let timer = state.heap.insert(due: due.nanoseconds, owner: self, handler)
            return (timer, Self.takeReady(&state))
        }
        ready.settle()
        return timer
    }

    /// Advances the clock and runs the due handlers, including those that handlers schedule.
    public func advance(by duration: Duration) {
        let end = state.withLock { $0.now.advanced(by: max(duration, .zero)) }
        while let handler = takeNext(until: end) { handler() }
        // The remaining time of other timers has changed, for which a test may wait.
        let ready = state.withLock { state in
            Self.move(&state, to: end)
            return Self.takeReady(&state)
        }
        ready.settle()
    }

    /// Advances the clock to the next timer and runs its handler.
    /// - Returns: Whether there was a timer.
    @discardableResult
    public func advanceToNextTimer() -> Bool {
        guard let next = state.withLock({ $0.heap.nextDue }) else { return false }
        advance(by: now.duration(to: MonotonicInstant(nanoseconds: next)))
        return true
    }

    /// Waits until at least a number of timers are scheduled, or the task is cancelled.
    ///
    /// All timers count, including timers of time limits. ``waitForTimer(in:limit:)`` is more
    /// precise.
    /// - Parameters:
    ///   - count: The number of timers.
    ///   - limit: The longest wait in real time, without the time in which a busy machine does not
    ///     run the test.
    /// - Throws: ``WaitExpired`` after the limit, with the existing timers.
    public func waitForTimers(_ count: Int, limit: Duration = .seconds(10)) async throws {
        try await wait(upTo: limit, for: Self.timers(count)) { $0.heap.count >= count }
    }

    /// Waits until a timer is scheduled for exactly this duration, or the task is cancelled.
    ///
    /// ``waitForTimers(_:limit:)`` is less precise, and also counts a timer that is soon cancelled.
    /// - Parameters:
    ///   - duration: The time until the timer is due, by this clock.
    ///   - limit: The longest wait in real time, without the time in which a busy machine does not
    ///     run the test.
    /// - Throws: ``WaitExpired`` after the limit, with the existing timers.
    public func waitForTimer(
        in duration: Duration, limit: Duration = .seconds(10)
    ) async throws {
        try await wait(upTo: limit, for: "a timer that is due in \(duration.text)") {
            $0.contains(duration)
        }
    }

    private func wait(
        upTo limit: Duration, for what: String,
        until condition: @escaping @Sendable (Timers) -> Bool
    ) async throws {
        let moment = state.withLock { $0.waiters.add(Self.timers($0), condition) }
        try await moment?.wait(
            upTo: limit, for: { [self] in "\(what); the clock has \(present)" },
            leaving: { [self] moment in state.withLock { $0.waiters.remove(moment) } })
    }

    private var present: String {
        let (now, dues) = state.withLock { ($0.now, $0.heap.dues.sorted()) }
        if dues.isEmpty { return "no timers" }
        let shown = dues.prefix(8).map {
            now.duration(to: MonotonicInstant(nanoseconds: $0)).text
        }
        return Self.timers(dues.count) + ", due in " + shown.joined(separator: ", ")
            + (dues.count > shown.count ? " and more" : "")
    }

    private static func timers(_ count: Int) -> String {
        "\(count) timer" + (count == 1 ? "" : "s")
    }

    private static func timers(_ state: State) -> Timers {
        Timers(heap: state.heap, now: state.now)
    }

    private func takeNext(until end: MonotonicInstant) -> TimerHeap.Action? {
        state.withLock { state in
            guard let next = state.heap.nextDue, next <= end.nanoseconds else { return nil }
            let due = MonotonicInstant(nanoseconds: next)
            Self.move(&state, to: max(state.now, due))
            return state.heap.popDue(at: next)
        }
    }

    private static func move(_ state: inout State, to instant: MonotonicInstant) {
        let seconds = Double(state.now.duration(to: instant) / .nanoseconds(1)) / 1e9
        state.date.addTimeInterval(seconds)
        state.now = instant
    }

    private static func takeReady(_ state: inout State) -> [OneShot<Void>] {
        state.waiters.isEmpty ? [] : state.waiters.takeReady(timers(state))
    }
}

extension ManualClock: TimerHeap.Owner {
    /// Removes a timer; only the timer itself calls this method.
    public func cancel(_ timer: TimerHeap.Timer) {
        // The handler is destroyed outside of the lock, because the captures may run other code.
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }
}
