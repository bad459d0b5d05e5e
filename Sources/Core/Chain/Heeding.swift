/// How a gate, or a transport, takes it when its context or its task is cancelled.
///
/// Those of a user's promise nothing: they may be deaf. What says that it ends soon needs no task of
/// its own under a time limit (``Next/promptly(_:in:)``).
package enum Heed: Sendable {
    /// Perhaps it does not end.
    case unknown
    /// It ends soon, if what is inside it does: besides that it awaits nothing but the context's
    /// sleeps and bodies.
    case withInside
    /// It ends soon, whatever is inside it.
    case always
}

/// A gate, or a transport, that says how it takes a cancellation.
package protocol Heeding: Sendable {
    /// How it takes a cancellation.
    var heed: Heed { get }
}

extension Heeding {
    package var heed: Heed { .withInside }
}

extension Context {
    /// Runs what may be deaf to cancellation so that its caller is not: when this context, or the
    /// caller's task, is cancelled, the caller hears of it at once.
    ///
    /// The caller's cancellation cancels this context, so give it a ``child(deadline:)``.
    /// - Parameters:
    ///   - operation: What is run, in a task that is cancelled with the context.
    ///   - abandon: Gets the value that came when nobody waited for it any more.
    /// - Returns: The value.
    /// - Throws: What the operation throws, or the error of the cancellation; where that has come
    ///   before, nothing is run.
    package func running<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value,
        orAbandoning abandon: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        // The operation's task would hear of it later, and could send something before.
        try checkCancellation()
        let answer = OneShot<Value>()
        // Ended by whoever cancels this context, or one around it, or the caller's task; else it
        // ends by itself.
        let task = Task.inheriting {
            do {
                let value = try await operation()
                if !answer.settle(.success(value)) { abandon(value) }
            } catch {
                answer.settle(.failure(error))
            }
        }
        let registration = onCancel { reason in
            answer.settle(.failure(reason.error))
            task.cancel()
        }
        defer { registration.end() }
        return try await answer.value { self.cancel(.task) }
    }
}
