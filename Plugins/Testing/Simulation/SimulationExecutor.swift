// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import struct Foundation.Date
import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// Runs the jobs of a simulation one at a time, in an order that a seed decides.
final class SimulationExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var generator: SeededGenerator
        var isClosed = false
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.ready.append(job) }
            return state.isClosed
        }
        // Jobs that remain after the simulation run elsewhere, because their tasks would leak.
        if isClosed {
            DispatchQueue.global().async { [self] in
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    func runOne() -> Bool {
        let job = state.withLock { state -> UnownedJob? in
            guard !state.ready.isEmpty else { return nil }
            let index = Int.random(in: 0..<state.ready.count, using: &state.generator)
            state.ready.swapAt(index, state.ready.count - 1)
            return state.ready.removeLast()
        }
        guard let job else { return false }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    /// Runs the remaining jobs here, and later jobs on the system's threads.
    func close() {
        state.withLock { $0.isClosed = true }
        while runOne() {}
    }
}

/// The clock of a ``Simulation``, which advances to the next timer if no task can run.
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

    /// Schedules a handler, which the simulation runs at the due time.
    public func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        state.withLock { state in
            let due = state.now.advanced(by: max(delay, .zero))
            return state.heap.insert(due: due.nanoseconds, owner: self, handler)
        }
    }

    /// Advances to the next timer and runs the handler, or returns false without a timer.
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
    /// Removes a timer; only the timer itself calls this method.
    public func cancel(_ timer: TimerHeap.Timer) {
        let handler = state.withLock { $0.heap.remove(timer) }
        _ = handler
    }
}

/// A detached system thread, because Foundation's `Thread` does not report a failed start.
enum SystemThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread, or returns false if a limit of the system or the process forbids a thread.
    static func start(stackBytes: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        // The memory stays uninitialized, because the members are private to the C library.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        defer { unsafe attributes.deallocate() }
        guard unsafe pthread_attr_init(attributes) == 0 else { return false }
        defer { unsafe pthread_attr_destroy(attributes) }
        unsafe pthread_attr_setdetachstate(attributes, CInt(PTHREAD_CREATE_DETACHED))
        guard unsafe pthread_attr_setstacksize(attributes, stackBytes) == 0 else { return false }
        #if canImport(Darwin) || canImport(Musl)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let work = unsafe Unmanaged.passRetained(Work(body))
        let status = unsafe pthread_create(&thread, attributes, main, work.toOpaque())
        if status != 0 { unsafe work.release() }
        return status == 0
    }

    #if canImport(Darwin)
    private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? =
        { work in
            unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
            return nil
        }
    #else
    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
        { work in
            if let work = unsafe work {
                unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
            }
            return nil
        }
    #endif
}
