// SPDX-License-Identifier: Apache-2.0

/// A gate or a transport that ends soon after its context or its task is cancelled.
///
/// When a time limit expires, the caller of the limit gets an error at once, even if an inner gate
/// does not end. A time limit is ``Context/deadline``, or a gate such as `Deadline`. The limit
/// therefore runs the inner gates in a separate task, which costs an allocation and a thread
/// switch for each call. If all inner gates and the transport conform to this protocol, the limit
/// runs the inner gates in the caller's task.
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
/// and operations that end by themselves within milliseconds. A gate that awaits a lock, an actor,
/// a service, or the body of a request may conform only if a cancellation ends this wait, through
/// ``Context/onCancel(_:)`` or `withTaskCancellationHandler`.
///
/// If a gate conforms but does not end soon, the caller gets the error when the gate ends. The
/// conformance checks of `TurnpikeTesting` find such transports, and gates that do not let a
/// cancelled `next` end.
public protocol PromptlyCancellable: Sendable {
    /// How soon the gate or transport ends when cancelled; ``Promptness/withInside`` by default.
    var promptness: Promptness { get }
}

extension PromptlyCancellable {
    /// The gate or transport ends soon if the rest of the chain does.
    public var promptness: Promptness { .withInside }
}

/// How soon a gate or a transport ends when its context or its task is cancelled.
public enum Promptness: Sendable {
    /// The gate or transport may not end; this case is assumed if the type does not conform.
    case unknown
    /// The gate ends soon if the rest of the chain ends soon.
    case withInside
    /// The gate or transport ends soon, even if the rest of the chain does not.
    case always
}
