/// The rest of the chain behind an interceptor.
///
/// It may be kept, and called any number of times.
public struct Next: Sendable {
    let plan: Plan
    let position: Int
    let context: Context

    init(plan: Plan, position: Int, context: Context) {
        self.plan = plan
        self.position = position
        self.context = context
    }

    /// The same rest of the chain, run under another context.
    package func bound(to context: Context) -> Next {
        Next(plan: plan, position: position, context: context)
    }

    /// What tells the gates of one call from those of another: calls with gates of their own differ
    /// from all others, and calls before a reload from those behind it.
    package var planIdentity: ObjectIdentifier { ObjectIdentifier(plan) }

    /// Runs the rest of the chain in the same attempt.
    public func callAsFunction(_ request: Request) async throws -> Response {
        try await plan.run(request, from: position, in: context)
    }

    /// Runs the rest of the chain under a context that was made with ``Context/child(deadline:)``.
    public func callAsFunction(_ request: Request, context: Context) async throws -> Response {
        try await plan.run(request, from: position, in: context)
    }

    /// Runs the rest of the chain as a fresh attempt: a retry, a hedge, a replay with a new
    /// credential.
    public func attempt(_ request: Request) async throws -> Response {
        try await plan.run(request, from: position, in: context.freshAttempt())
    }

    /// Runs the rest of the chain as a fresh attempt under a context that was made with
    /// ``Context/child(deadline:)``.
    public func attempt(_ request: Request, context: Context) async throws -> Response {
        try await plan.run(request, from: position, in: context.freshAttempt())
    }
}
