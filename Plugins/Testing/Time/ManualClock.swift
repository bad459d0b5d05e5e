public import Foundation
import Synchronization
public import TurnpikeCore

/// A time source that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let client = Client(transport: transport, stack: stack, timeSource: clock)
/// async let answer = client.get("slow").data()
/// await clock.waitForTimers(1)  // the call has begun to wait
/// clock.advance(by: .seconds(30))
/// ```
///
/// ``advance(by:)`` runs the handlers that become due inside it, in the order of their times, and
/// each of them sees the time it was scheduled for.
public final class ManualClock: TimeSource {
    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var date: Date
        var heap = TimerHeap()
        var waiters = Waiters<Timers>()
    }

    /// What those who wait for timers ask; to count them needs no look at each.
    private struct Timers {
        let heap: TimerHeap
        let now: MonotonicInstant

        func contains(_ duration: Duration) -> Bool {
            heap.dues.contains { now.duration(to: $0) == duration }
        }
    }

    private let state: Mutex<State>

    /// Creates a clock.
    /// - Parameter date: The date on the wall at the beginning; it moves with the clock.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        state = Mutex(State(date: date))
    }

    /// The present, from zero.
    public var now: MonotonicInstant { state.withLock { $0.now } }

    /// The date on the wall.
    public var date: Date { state.withLock { $0.date } }

    /// How many timers are waiting.
    public var timerCount: Int { state.withLock { $0.heap.count } }

    /// Schedules a handler for ``advance(by:)`` to run.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        let (timer, ready) = state.withLock { state in
            let due = state.now.advanced(by: max(delay, .zero))
            let timer = state.heap.insert(due: due, owner: self, handler)
            return (timer, Self.takeReady(&state))
        }
        ready.settle()
        return timer
    }

    /// Moves the clock and runs what becomes due, also what handlers schedule meanwhile.
    public func advance(by duration: Duration) {
        let end = state.withLock { $0.now.advanced(by: max(duration, .zero)) }
        while let handler = takeNext(until: end) { handler() }
        // Timers that are left have come nearer, which somebody may have waited for.
        let ready = state.withLock { state in
            Self.move(&state, to: end)
            return Self.takeReady(&state)
        }
        ready.settle()
    }

    /// Moves the clock to the next timer and runs it.
    /// - Returns: Whether there was one.
    @discardableResult
    public func advanceToNextTimer() -> Bool {
        guard let due = state.withLock({ $0.heap.nextDue }) else { return false }
        advance(by: now.duration(to: due))
        return true
    }

    /// Returns when at least a number of timers are waiting, or the task is cancelled.
    ///
    /// All timers count. Where a limit has one too, ``waitForTimer(in:)`` says which is meant.
    public func waitForTimers(_ count: Int) async { await wait { $0.heap.count >= count } }

    /// Returns when a timer is waiting that is due in just this time, or the task is cancelled.
    ///
    /// It tells timers apart where ``waitForTimers(_:)`` would count one that is about to be
    /// cancelled.
    public func waitForTimer(in duration: Duration) async { await wait { $0.contains(duration) } }

    private func wait(for condition: @escaping @Sendable (Timers) -> Bool) async {
        let moment = state.withLock { $0.waiters.add(Self.timers($0), condition) }
        await moment?.wait { [self] moment in state.withLock { $0.waiters.remove(moment) } }
    }

    private static func timers(_ state: State) -> Timers {
        Timers(heap: state.heap, now: state.now)
    }

    private func takeNext(until end: MonotonicInstant) -> TimerAction? {
        state.withLock { state in
            guard let due = state.heap.nextDue, due <= end else { return nil }
            Self.move(&state, to: max(state.now, due))
            return state.heap.popDue(at: due)
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

extension ManualClock: TimerOwner {
    package func cancel(_ timer: TimerHeap.Timer) {
        // Released outside the lock: what a handler captured may run code of its own.
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }
}
