// SPDX-License-Identifier: Apache-2.0

/// The inner gates and the transport, which a gate may call any number of times.
public struct Next: Sendable {
    @usableFromInline let plan: Plan
    @usableFromInline let position: Int
    @usableFromInline let context: Context

    @usableFromInline init(plan: Plan, position: Int, context: Context) {
        self.plan = plan
        self.position = position
        self.context = context
    }

    /// Returns the same inner gates with another context.
    ///
    /// Use this method to run a second gate before the inner gates:
    /// `try await inner.intercept(request, context: other, next: next.bound(to: other))`.
    public func bound(to context: Context) -> Next {
        Next(plan: plan, position: position, context: context)
    }

    /// The identity of the stack that a call uses.
    ///
    /// A call with additional gates has an identity that no other call has. Calls before and after
    /// a reload have different identities.
    public var planIdentity: ObjectIdentifier { ObjectIdentifier(plan) }

    /// The transport, for requests that must not pass through the gates, such as health checks of a
    /// server.
    public var transport: any Transport { plan.transport }

    /// Whether an inner gate or the transport may prove the client's identity to a server.
    ///
    /// If true, responses belong only to this client, even if a gate that stores responses sees no
    /// credential. An inner gate may prove the identity if the gate adds a credential or cookies,
    /// or if the gate changes requests and states no facts. For the transport, see
    /// ``Transport/provesClient``.
    public var provesClient: Bool { plan.provesClient(from: position) }

    /// How often the stack or the transport of the client was replaced.
    ///
    /// After a replacement, the inner gates or the transport may prove another identity.
    public var generation: Int { plan.generation }

    /// Runs the inner gates and the transport in the same attempt.
    @inlinable @inline(__always)
    public func callAsFunction(_ request: Request) async throws -> Response {
        try await callAsFunction(request, context: context)
    }

    // The method is inlined into the gate, because each plain interceptor must cost only one
    // asynchronous frame (`scripts/bench call` with ten gates that do nothing).

    /// Runs the inner gates in a context that was created with ``Context/child(deadline:)``.
    @inlinable @inline(__always)
    public func callAsFunction(_ request: Request, context: Context) async throws -> Response {
        guard let gate = plan.interceptor(at: position, in: context) else {
            return try await plan.run(request, from: position, in: context)
        }
        let next = Next(plan: plan, position: position + 1, context: context)
        return try await gate.value.intercept(request, context: context, next: next)
    }

    /// Runs the inner gates in a new attempt, such as a retry, a hedge or a replay.
    public func attempt(_ request: Request) async throws -> Response {
        try await plan.run(request, from: position, in: context.furtherAttempt())
    }

    /// Runs the inner gates in a new attempt and in another context, which must have been created
    /// with ``Context/child(deadline:)``.
    public func attempt(_ request: Request, context: Context) async throws -> Response {
        try await plan.run(request, from: position, in: context.furtherAttempt())
    }
}
