extension Task where Failure == Never {
    /// Starts a task of its own on the executor that the current task prefers, if it prefers one.
    ///
    /// A plain `Task` does not inherit that, so that a call would leave the executor which a
    /// simulation, or a service, runs it on. All tasks of the library are begun here. The caller
    /// says who ends them.
    /// - Parameters:
    ///   - immediately: Whether it begins on the caller's thread where the system can, so that what
    ///     never suspends costs no thread hop.
    ///   - operation: What the task does.
    /// - Returns: The task.
    package static func inheriting(
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

    /// Starts a task as ``inheriting(immediately:_:)`` does, for work that belongs to no caller: it
    /// has none of the current task's values, nor its priority.
    package static func apart(
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
