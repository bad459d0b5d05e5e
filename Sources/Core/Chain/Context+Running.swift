// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Runs an operation that may ignore a cancellation, although the caller reacts at once.
    ///
    /// When this context or the caller's task is cancelled, the caller returns at once. Pass a
    /// ``child(deadline:)``, because a cancellation of the task also cancels this context.
    /// - Parameters:
    ///   - operation: Runs in a task that is cancelled with the context.
    ///   - abandon: Receives a value that arrives after the caller has returned.
    /// - Returns: The value.
    /// - Throws: The error of the operation or of the cancellation. If the context is already
    ///   cancelled, the operation does not run.
    public func running<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value,
        orAbandoning abandon: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        // The check is needed, because a task of a cancelled call begins before the task is
        // cancelled.
        try checkCancellation()
        let answer = OneShot<Value>()
        // A cancellation of this context, of an outer context or of the caller's task cancels the
        // task. Without a cancellation, the task ends when the operation ends.
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

/// The registration of a handler for a cancellation.
///
/// The registration retains the context, and an outer cancellation therefore calls the handler.
public struct CancelRegistration: Sendable {
    private let context: Context
    private let place: CancelPlace?

    init(context: Context, place: CancelPlace?) {
        self.context = context
        self.place = place
    }

    /// Removes the handler, which is not called after this call.
    public func end() {
        if let place { context.call.record.cancelTree.remove(place) }
    }
}
