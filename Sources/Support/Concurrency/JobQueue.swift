// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The jobs of tasks that are to run on an engine's thread.
public final class JobQueue: Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Creates an empty queue.
    public init() {}

    /// Adds a job; false once the queue is closed, and the job must run elsewhere.
    public func add(_ job: UnownedJob) -> Bool {
        state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return !state.isClosed
        }
    }

    /// Whether no job waits.
    public var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }

    /// Moves the jobs to an empty list, and keeps its room for later ones.
    public func take(into list: inout [UnownedJob]) { state.withLock { swap(&$0.jobs, &list) } }

    /// Refuses later jobs; those that wait must still be taken and run.
    public func close() { state.withLock { $0.isClosed = true } }
}
