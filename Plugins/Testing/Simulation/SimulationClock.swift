// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date
import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// The clock of a ``Simulation``: it stands still while a task can run, and otherwise advances to
/// the next timer.
public final class SimulationClock: TimeSource {
    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var heap = TimerHeap()
    }

    private let start: Date
    private let state = Mutex(State())

    init(start: Date) { self.start = start }

    /// The simulated time since the start.
    public var now: MonotonicInstant { state.withLock { $0.now } }

    /// The simulated wall-clock time.
    public var date: Date { start.addingTimeInterval(Double(now.nanoseconds) / 1e9) }

    /// Schedules a handler, which the simulation runs when it is due.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        state.withLock { state in
            let due = state.now.advanced(by: max(delay, .zero))
            return state.heap.insert(due: due.nanoseconds, owner: self, handler)
        }
    }

    /// Advances to the next timer and runs it.
    /// - Returns: Whether there was a timer.
    func runNext() -> Bool {
        let handler = state.withLock { state -> TimerHeap.Action? in
            guard let next = state.heap.nextDue else { return nil }
            state.now = max(state.now, MonotonicInstant(nanoseconds: next))
            return state.heap.popDue(at: next)
        }
        handler?()
        return handler != nil
    }
}

extension SimulationClock: TimerHeap.Owner {
    /// Removes a timer; called by the timer itself.
    public func cancel(_ timer: TimerHeap.Timer) {
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }
}
