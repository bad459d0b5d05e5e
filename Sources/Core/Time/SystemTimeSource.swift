import Dispatch
public import struct Foundation.Date
import Synchronization

/// The machine's clocks, with one timer queue for the whole process.
public struct SystemTimeSource: TimeSource {
    /// Creates the time source; all instances share one timer queue.
    public init() {}

    /// The time since the machine's start, without the time that it slept.
    public var now: MonotonicInstant { TimerQueue.now }

    /// The present on the wall clock.
    public var date: Date { Date() }

    /// Runs a handler once after a delay, on the timer queue's thread.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        TimerQueue.shared.schedule(at: now.advanced(by: max(delay, .zero)), handler)
    }
}

/// Timers in a binary heap, driven by one dispatch source.
///
/// Most timers are limits: scheduled in order, cancelled long before they are due. Scheduling one
/// that is later than all others costs no move in the heap and no system call, and cancelling takes
/// it out at once, so nothing is kept alive until its time.
final class TimerQueue: Sendable {
    static let shared = TimerQueue()

    static var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(clamping: DispatchTime.now().uptimeNanoseconds))
    }

    private struct State {
        var heap: [Timer] = []
        // When the dispatch source fires next; .max while it is idle.
        var armed = MonotonicInstant(nanoseconds: .max)
        var count: UInt64 = 0
    }

    private let state = Mutex(State())
    // SAFETY: dispatch sources may be used from any thread; this one is only armed under the lock.
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
        let timer = Timer(due: due, handler: handler, queue: self)
        state.withLock { state in
            state.count += 1
            timer.order = state.count
            timer.position = state.heap.count
            state.heap.append(timer)
            Self.siftUp(&state.heap, from: timer.position)
            arm(&state)
        }
        return timer
    }

    fileprivate func cancel(_ timer: Timer) {
        // The handler is released outside the lock: what it captured may run code of its own.
        let handler = state.withLock { state in
            if timer.position >= 0 { Self.remove(&state.heap, at: timer.position) }
            return timer.takeHandler()
        }
        _ = handler
    }

    private func runDue() {
        while true {
            let handler = state.withLock { state -> (@Sendable () -> Void)? in
                guard let first = state.heap.first, first.due <= Self.now else {
                    state.armed = MonotonicInstant(nanoseconds: .max)
                    arm(&state)
                    return nil
                }
                Self.remove(&state.heap, at: 0)
                return first.takeHandler()
            }
            guard let handler else { return }
            handler()
        }
    }

    private func arm(_ state: inout State) {
        guard let due = state.heap.first?.due, due < state.armed else { return }
        state.armed = due
        unsafe source.schedule(
            deadline: DispatchTime(uptimeNanoseconds: UInt64(max(due.nanoseconds, 1))),
            leeway: .nanoseconds(0))
    }

    // MARK: Heap

    private static func siftUp(_ heap: inout [Timer], from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            exchange(&heap, child, parent)
            child = parent
        }
    }

    private static func siftDown(_ heap: inout [Timer], from start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].isBefore(heap[first]) { first = child }
            }
            if first == parent { return }
            exchange(&heap, first, parent)
            parent = first
        }
    }

    private static func remove(_ heap: inout [Timer], at position: Int) {
        let last = heap.count - 1
        if position != last { exchange(&heap, position, last) }
        heap[last].position = -1
        heap.removeLast()
        guard position < heap.count else { return }
        siftDown(&heap, from: position)
        siftUp(&heap, from: position)
    }

    private static func exchange(_ heap: inout [Timer], _ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        heap[left].position = left
        heap[right].position = right
    }
}

// SAFETY: `position`, `order` and `handler` are only touched under the lock of the queue.
private final class Timer: TimerToken, @unchecked Sendable {
    let due: MonotonicInstant
    var order: UInt64 = 0
    var position = -1
    private var handler: (@Sendable () -> Void)?
    private unowned let queue: TimerQueue

    init(due: MonotonicInstant, handler: @escaping @Sendable () -> Void, queue: TimerQueue) {
        self.due = due
        self.handler = handler
        self.queue = queue
    }

    func takeHandler() -> (@Sendable () -> Void)? {
        defer { handler = nil }
        return handler
    }

    func isBefore(_ other: Timer) -> Bool {
        due == other.due ? order < other.order : due < other.due
    }

    func cancel() { queue.cancel(self) }
}
