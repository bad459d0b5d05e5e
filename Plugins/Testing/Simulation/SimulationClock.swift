public import struct Foundation.Date
import Synchronization
public import TurnpikeCore

/// The time of a ``Simulation``: it stands while anything can run and jumps to the next timer when
/// nothing can.
public final class SimulationClock: TimeSource {
    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var heap = TimerHeap()
    }

    private let start: Date
    private let state = Mutex(State())

    init(start: Date) { self.start = start }

    /// The time since the simulation's start.
    public var now: MonotonicInstant { state.withLock { $0.now } }

    /// The date on the simulated wall.
    public var date: Date { start.addingTimeInterval(Double(now.nanoseconds) / 1e9) }

    /// Schedules a handler; the simulation runs it when its time has come.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        state.withLock { state in
            let due = state.now.advanced(by: max(delay, .zero))
            return state.heap.insert(due: due, owner: self, handler)
        }
    }

    /// Jumps to the next timer and runs it.
    /// - Returns: Whether there was one.
    func runNext() -> Bool {
        let handler = state.withLock { state -> TimerAction? in
            guard let due = state.heap.nextDue else { return nil }
            state.now = max(state.now, due)
            return state.heap.popDue(at: due)
        }
        handler?()
        return handler != nil
    }
}

extension SimulationClock: TimerOwner {
    package func cancel(_ timer: TimerHeap.Timer) {
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }
}
