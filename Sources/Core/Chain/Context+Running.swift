// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Runs an operation that may ignore cancellation, without making its caller wait for it.
    ///
    /// When this context or the caller's task is cancelled, the caller returns at once. The
    /// cancellation of the task also cancels this context, so use a ``child(deadline:)``.
    /// - Parameters:
    ///   - operation: Runs in a task that is cancelled with the context.
    ///   - abandon: Receives a value that arrives after the caller has returned.
    /// - Returns: The value.
    /// - Throws: The error of the operation or of the cancellation. If the context is already
    ///   cancelled, the operation is not run.
    public func running<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value,
        orAbandoning abandon: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        // Without this check, the operation could send before its task is cancelled.
        try checkCancellation()
        let answer = OneShot<Value>()
        // The task is cancelled with this context, an outer context or the caller's task. Without a
        // cancellation, the task ends when its operation ends.
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

/// A registration of a handler that waits for a cancellation.
///
/// The registration keeps its context alive, so an outer cancellation still calls the handler.
public struct CancelRegistration: Sendable {
    private let context: Context
    private let place: CancelPlace?

    init(context: Context, place: CancelPlace?) {
        self.context = context
        self.place = place
    }

    /// Removes the handler, so that it is not called from now on.
    public func end() {
        if let place { context.call.record.cancelTree.remove(place) }
    }
}
