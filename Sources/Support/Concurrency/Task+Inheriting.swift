// SPDX-License-Identifier: Apache-2.0

extension Task where Failure == Never {
    /// Starts an unstructured task with the executor preference of the current task.
    ///
    /// A plain `Task` does not inherit that preference, so a call would leave the executor on which
    /// a simulation or a service runs it. All tasks of the library start here. The caller documents
    /// what ends the task.
    /// - Parameters:
    ///   - immediately: Whether the task starts on the caller's thread if the system supports it,
    ///     so that work that never suspends needs no thread switch.
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

    /// Starts a task as ``inheriting(immediately:_:)`` does, but without the task-local values and
    /// the priority of the current task, for work that belongs to no caller.
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
