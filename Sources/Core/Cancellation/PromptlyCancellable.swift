// SPDX-License-Identifier: Apache-2.0

/// A gate or a transport that ends soon after the cancellation of its context or task.
///
/// When a time limit ends, the caller gets an error at once, even if an inner gate does not end. A
/// time limit comes from ``Context/deadline`` or from a gate such as `Deadline`. The limit
/// therefore runs the inner gates in a separate task, which costs an allocation and a thread switch
/// for each call. If all inner gates and the transport conform to this protocol, the limit runs the
/// inner gates in the caller's task.
///
/// ```swift
/// struct Signature: Interceptor, PromptlyCancellable {
///     func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
///         try await next(signed(request))  // nothing else is awaited
///     }
/// }
/// ```
///
/// A gate may conform if the gate awaits only `next`, ``Context/sleep(for:)``, the bodies of
/// responses, and operations that end within milliseconds. A gate that awaits a lock, an actor, a
/// service, or the body of a request may conform only if a cancellation ends this wait, through
/// ``Context/onCancel(_:)`` or `withTaskCancellationHandler`.
///
/// If a gate conforms but does not end soon, the caller gets the error when the gate ends. The
/// conformance checks of `TurnpikeTesting` find gates and transports that do not end soon.
public protocol PromptlyCancellable: Sendable {
    /// How soon the gate or transport ends when cancelled; by default ``Promptness/withInside``.
    var promptness: Promptness { get }
}

extension PromptlyCancellable {
    /// By default, the gate ends soon after the inner gates and the transport have ended.
    public var promptness: Promptness { .withInside }
}

/// How soon a gate or a transport ends after the cancellation of its context or task.
public enum Promptness: Sendable {
    /// The gate or transport may never end; types without a conformance have this value.
    case unknown
    /// The gate ends soon after the inner gates and the transport have ended.
    case withInside
    /// The gate or transport ends soon, even if the inner gates do not.
    case always
}
