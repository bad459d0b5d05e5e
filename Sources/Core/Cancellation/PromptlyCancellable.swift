import TurnpikeSupport

/// How soon a gate or a transport ends when its context or its task is cancelled.
public enum Promptness: Sendable {
    /// It may not end; assumed for gates and transports that declare nothing.
    case unknown
    /// It ends soon if the rest of the chain does: besides `next`, it awaits only the context's
    /// sleeps, and bodies.
    case withInside
    /// It ends soon, whatever the rest of the chain does.
    case always
}

/// A gate or a transport that promises to end soon after its context or its task is cancelled.
///
/// When a time limit (``Context/deadline``, or a gate such as `Deadline` or `AttemptTimeout`)
/// expires, its caller returns at once, whatever the gates inside do. To guarantee this, the limit
/// runs them in a task of their own, which costs an allocation and a thread switch for each call.
/// If all gates inside and the transport promise to end soon, the limit runs them in the caller's
/// task.
///
/// ```swift
/// struct Signature: Interceptor, PromptlyCancellable {
///     func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
///         try await next(signed(request))  // nothing else is awaited
///     }
/// }
/// ```
///
/// A gate may conform if it awaits only `next`, ``Context/sleep(for:)``, the bodies of responses,
/// and operations that end by themselves within milliseconds. A gate that awaits a lock, an actor
/// or a service of its own may conform only if it stops waiting on cancellation, with
/// ``Context/onCancel(_:)`` or `withTaskCancellationHandler`.
///
/// Nothing checks the promise in a running program. If it is broken, only time is lost: the caller
/// gets the error of the limit when the gate ends. The conformance checks of `TurnpikeTesting` find
/// gates and transports that break the promise.
public protocol PromptlyCancellable: Sendable {
    /// How soon it ends; ``Promptness/withInside`` by default.
    var promptness: Promptness { get }
}

extension PromptlyCancellable {
    /// It ends soon if the rest of the chain does.
    public var promptness: Promptness { .withInside }
}

extension Context {
    /// Runs an operation that may ignore cancellation, without making its caller wait for it.
    ///
    /// When this context or the caller's task is cancelled, the caller returns at once.
    ///
    /// A cancelled caller's task cancels this context, so use a ``child(deadline:)``.
    /// - Parameters:
    ///   - operation: The operation. It runs in a task that is cancelled with the context.
    ///   - abandon: Receives a value that arrives after the caller has returned.
    /// - Returns: The value.
    /// - Throws: The error of the operation or of the cancellation. If the context is already
    ///   cancelled, the operation is not run.
    package func running<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value,
        orAbandoning abandon: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        // The operation's task would see the cancellation only later, and could send something
        // first.
        try checkCancellation()
        let answer = OneShot<Value>()
        // Cancelled with this context, an outer context or the caller's task; otherwise ends by
        // itself.
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
