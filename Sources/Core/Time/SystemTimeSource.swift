// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import struct Foundation.Date
import Synchronization
import TurnpikeSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The machine's clocks, with one timer queue for the whole process.
public struct SystemTimeSource: TimeSource {
    /// Creates the time source; all instances share one timer queue.
    public init() {}

    /// The time since the system booted, not counting sleep.
    public var now: MonotonicInstant { TimerQueue.now }

    /// The current wall-clock time.
    public var date: Date { Date() }

    /// Runs a handler once after a delay, on the thread of the timer queue.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        TimerQueue.shared.schedule(at: now.advanced(by: max(delay, .zero)), handler)
    }
}

/// The timers of the process, driven by one dispatch source.
///
/// Most timers are limits: they are scheduled in order and cancelled long before they are due.
/// Scheduling a timer that is later than all others needs no move in the heap and no system call.
/// Cancelling a timer removes it at once, so nothing is kept alive until it is due.
final class TimerQueue: TimerHeap.Owner {
    static let shared = TimerQueue()

    static var now: MonotonicInstant {
        #if os(Linux)
        // The clock of `DispatchTime`, without its conversions.
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(
            nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        #else
        MonotonicInstant(nanoseconds: Int64(clamping: DispatchTime.now().uptimeNanoseconds))
        #endif
    }

    private struct State {
        var heap = TimerHeap()
        // When the dispatch source fires next; `.max` while it is idle.
        var armed = MonotonicInstant(nanoseconds: .max)
    }

    private let state = Mutex(State())
    // SAFETY: dispatch sources may be used from any thread; this one is only scheduled under the
    // lock.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    private init() {
        let queue = DispatchQueue(label: "turnpike.timers", qos: .userInitiated)
        unsafe source = DispatchSource.makeTimerSource(queue: queue)
        unsafe source.setEventHandler { [weak self] in self?.runDue() }
        unsafe source.activate()
    }

    func schedule(
        at due: MonotonicInstant, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        state.withLock { state in
            let timer = state.heap.insert(due: due.nanoseconds, owner: self, handler)
            arm(&state)
            return timer
        }
    }

    func cancel(_ timer: TimerHeap.Timer) {
        // The handler is destroyed outside the lock, because its captures may run code of their
        // own.
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }

    private func runDue() {
        while true {
            let handler = state.withLock { state -> TimerHeap.Action? in
                if let handler = state.heap.popDue(at: Self.now.nanoseconds) { return handler }
                state.armed = MonotonicInstant(nanoseconds: .max)
                arm(&state)
                return nil
            }
            guard let handler else { return }
            handler()
        }
    }

    private func arm(_ state: inout State) {
        guard let next = state.heap.nextDue, next < state.armed.nanoseconds else { return }
        state.armed = MonotonicInstant(nanoseconds: next)
        unsafe source.schedule(
            deadline: DispatchTime(uptimeNanoseconds: UInt64(max(next, 1))),
            leeway: .nanoseconds(0))
    }
}
