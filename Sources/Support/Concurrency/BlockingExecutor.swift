// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Runs work that blocks its thread, or keeps it busy for long, on threads of its own.
///
/// The cooperative pool has as many threads as the machine has cores, and all tasks need them.
package final class BlockingExecutor: TaskExecutor {
    static let shared = BlockingExecutor()

    private let queue = DispatchQueue(
        label: "turnpike.blocking", qos: .userInitiated, attributes: .concurrent)

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs work on this executor, in the current task.
    @concurrent package static func run<Value: Sendable>(
        _ work: @Sendable @concurrent () async throws -> Value
    ) async throws -> Value {
        try await withTaskExecutorPreference(shared) { try await work() }
    }
}
