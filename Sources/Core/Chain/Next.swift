// SPDX-License-Identifier: Apache-2.0

/// The rest of the chain after an interceptor.
///
/// It may be stored and called any number of times.
public struct Next: Sendable {
    let plan: Plan
    let position: Int
    let context: Context

    init(plan: Plan, position: Int, context: Context) {
        self.plan = plan
        self.position = position
        self.context = context
    }

    /// Returns the same rest of the chain with another context, for a gate that runs a second gate
    /// before it: `try await inner.intercept(request, context: other, next: next.bound(to: other))`.
    public func bound(to context: Context) -> Next {
        Next(plan: plan, position: position, context: context)
    }

    /// Identifies the stack of a call.
    ///
    /// Calls with gates of their own differ from all others, and so do calls before and after a
    /// reload.
    public var planIdentity: ObjectIdentifier { ObjectIdentifier(plan) }

    /// The transport at the end of the chain, for requests that must not pass the gates, such as
    /// health checks of a server.
    public var transport: any Transport { plan.transport }

    /// Whether an inner gate or the transport may prove who the client is.
    ///
    /// This is a gate that adds a credential or cookies, or that changes requests and states no
    /// facts, or the transport (``Transport/provesClient``).
    ///
    /// A gate that stores responses does not see that proof, so the stored responses belong to this
    /// client only.
    public var provesClient: Bool { plan.provesClient(from: position) }

    /// How often the stack or the transport of the client was replaced (``Client/replace(stack:transport:onShutdown:)``).
    ///
    /// After that, the inner gates or the transport may prove another client.
    public var generation: Int { plan.generation }

    /// Runs the rest of the chain in the same attempt.
    public func callAsFunction(_ request: Request) async throws -> Response {
        try await plan.run(request, from: position, in: context)
    }

    /// Runs the rest of the chain in a context that was created with ``Context/child(deadline:)``.
    public func callAsFunction(_ request: Request, context: Context) async throws -> Response {
        try await plan.run(request, from: position, in: context)
    }

    /// Runs the rest of the chain as a further attempt, for example a retry, a hedge, or a replay with
    /// a new credential.
    ///
    /// The first try of a gate is ``callAsFunction(_:)``.
    public func attempt(_ request: Request) async throws -> Response {
        try await plan.run(request, from: position, in: context.furtherAttempt())
    }

    /// Runs the rest of the chain as a new attempt in a context that was created with
    /// ``Context/child(deadline:)``.
    public func attempt(_ request: Request, context: Context) async throws -> Response {
        try await plan.run(request, from: position, in: context.furtherAttempt())
    }
}
