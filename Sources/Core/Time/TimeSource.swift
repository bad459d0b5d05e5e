// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
public import TurnpikeSupport

/// The source of all times in calls: deadlines, back-off, expiry and measurements.
///
/// A client has one time source, and gates access it with ``Context/timeSource``. A test with its
/// own time source never sleeps.
public protocol TimeSource: Sendable {
    /// The current time on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// The current wall-clock time, for HTTP dates.
    var date: Date { get }

    /// Runs a handler once after a delay, unless the token is cancelled earlier.
    ///
    /// The handler runs on a thread of the time source, and must return quickly. If the delay is
    /// zero or less, the handler runs as soon as possible, but only after this method has returned.
    /// - Parameters:
    ///   - delay: The minimum time to wait.
    ///   - handler: The handler.
    /// - Returns: A token. If the token is released, the timer still runs.
    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken
}

/// A scheduled handler.
public protocol TimerToken: AnyObject, Sendable {
    /// Cancels the handler if the handler has not started; a second call has no effect.
    func cancel()
}

/// An instant on a clock that never goes back; only differences are meaningful.
public struct MonotonicInstant: Hashable, Sendable, InstantProtocol {
    /// Nanoseconds since an origin that the time source chooses.
    public let nanoseconds: Int64

    /// Creates an instant, which only a time source should do.
    /// - Parameter nanoseconds: The time since the origin of the time source.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns the instant after a duration, clamped to 292 years around the origin.
    public func advanced(by duration: Duration) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Self(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns the time from this instant to another instant.
    public func duration(to other: Self) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other > self ? .max : .min) : difference)
    }

    /// Whether the left instant is before the right instant.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The clocks of the machine, with one timer queue for the whole process.
public struct SystemTimeSource: TimeSource {
    /// Creates the time source; all instances share one timer queue.
    public init() {}

    /// The time since the system booted, without the time in sleep.
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

/// The timers of the process, which share one dispatch source.
///
/// Most timers are limits, which are scheduled in order and cancelled long before they are due. If
/// a new timer is later than all others, the timer needs no move in the heap and no system call.
/// The handler of a cancelled timer is released at once, because the timer is removed at once.
final class TimerQueue: TimerHeap.Owner {
    static let shared = TimerQueue()

    static var now: MonotonicInstant {
        #if os(Linux)
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
        // The time when the dispatch source fires next, or `.max` while the source is idle.
        var armed = MonotonicInstant(nanoseconds: .max)
    }

    private let state = Mutex(State())
    // SAFETY: a dispatch source may be used from any thread, and is scheduled only under the lock.
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
        // The handler is destroyed outside the lock, because its captured values may run code.
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

extension TimerHeap.Timer: TimerToken {}
