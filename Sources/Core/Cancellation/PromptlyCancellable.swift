// SPDX-License-Identifier: Apache-2.0

/// A gate or a transport that promises to end soon after its context or its task is cancelled.
///
/// A time limit is ``Context/deadline``, or a gate such as `Deadline` or `AttemptTimeout`. When a
/// time limit expires, its caller returns at once, even if an inner gate does not end. To guarantee
/// this, the limit runs the inner gates in a separate task, which costs an allocation and a thread
/// switch for each call. If all inner gates and the transport promise to end soon, the limit runs
/// them in the caller's task.
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
/// and operations that end by themselves within milliseconds. Other gates await a lock, an actor, a
/// service, or the body of a request, which may be a caller's stream. Such a gate may
/// conform only if it stops waiting on cancellation, with ``Context/onCancel(_:)`` or
/// `withTaskCancellationHandler`.
///
/// Nothing checks the promise in a running program. If a gate breaks the promise, only time is
/// lost: the caller gets the error when the gate ends. The conformance checks of `TurnpikeTesting`
/// find transports that break the promise, and gates that do not let a cancelled `next` end.
public protocol PromptlyCancellable: Sendable {
    /// How soon the gate or transport ends after a cancellation; the default is
    /// ``Promptness/withInside``.
    var promptness: Promptness { get }
}

extension PromptlyCancellable {
    /// The gate or transport ends soon if the rest of the chain does.
    public var promptness: Promptness { .withInside }
}

/// How soon a gate or a transport ends when its context or its task is cancelled.
public enum Promptness: Sendable {
    /// The gate or transport may not end; this is assumed if it declares nothing.
    case unknown
    /// The gate ends soon if the rest of the chain does; besides `next`, it awaits only the
    /// context's sleeps and the bodies of responses.
    case withInside
    /// The gate or transport ends soon, even if the rest of the chain does not.
    case always
}
