// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Runs work that blocks a thread, or that takes long, on separate threads.
///
/// The cooperative pool must stay free, because the pool has only one thread for each core, and all
/// tasks use the pool.
public final class BlockingExecutor: TaskExecutor {
    static let shared = BlockingExecutor()

    private let queue = DispatchQueue(
        label: "turnpike.blocking", qos: .userInitiated, attributes: .concurrent)

    private init() {}

    /// Runs a job; only the Swift runtime calls this method.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs work on this executor, in the current task.
    @concurrent public static func run<Value: Sendable>(
        _ work: @Sendable @concurrent () async throws -> Value
    ) async throws -> Value {
        try await withTaskExecutorPreference(shared) { try await work() }
    }
}

/// The jobs of tasks that must run on the thread of an engine.
public final class JobQueue: Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Creates an empty queue.
    public init() {}

    /// Adds a job, or returns false if the queue is closed and the job must run elsewhere.
    public func add(_ job: UnownedJob) -> Bool {
        state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return !state.isClosed
        }
    }

    /// Whether no job is waiting.
    public var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }

    /// Moves the jobs to an empty list, whose storage the queue uses for later jobs.
    public func take(into list: inout [UnownedJob]) { state.withLock { swap(&$0.jobs, &list) } }

    /// Refuses later jobs; the jobs in the list must still be taken and run.
    public func close() { state.withLock { $0.isClosed = true } }
}

extension Task where Failure == Never {
    /// Starts an unstructured task with the executor preference of the current task.
    ///
    /// A plain `Task` does not inherit the executor preference. With a plain `Task`, a call would
    /// leave the executor on which a simulation or a service runs the call. All unstructured tasks
    /// of the library start with this method. The caller documents the end of the task.
    /// - Parameters:
    ///   - immediately: Whether the task starts on the caller's thread if the system supports this,
    ///     without a thread switch for work that never suspends.
    ///   - operation: The work.
    /// - Returns: The task.
    public static func inheriting(
        immediately: Bool = true,
        _ operation: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let executor = unsafe withUnsafeCurrentTask {
                unsafe $0?.unownedTaskExecutor?.asTaskExecutor()
            }
            return immediately
                ? Task.immediate(executorPreference: executor, operation: operation)
                : Task(executorPreference: executor, operation: operation)
        }
        return Task(operation: operation)
    }

    /// Starts a task like ``inheriting(immediately:_:)``, but without the task-local values and the
    /// priority of the current task, for work that does not belong to a caller.
    public static func apart(
        _ operation: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            let executor = unsafe withUnsafeCurrentTask {
                unsafe $0?.unownedTaskExecutor?.asTaskExecutor()
            }
            return Task.detached(executorPreference: executor, operation: operation)
        }
        return Task.detached(operation: operation)
    }
}
