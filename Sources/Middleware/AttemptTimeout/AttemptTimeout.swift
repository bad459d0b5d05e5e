public import TurnpikeCore

/// Ends an attempt whose response's head does not come within a limit.
///
/// Place it inside a retry. The body has limits of its own: ``IdleTimeout``, ``Deadline``. Where
/// less time is left to the deadline than the limit, the deadline decides. It fails as
/// ``/TurnpikeCore/ClientError/Code/attemptTimeout``, which a retry may try again.
public struct AttemptTimeout: Interceptor {
    private let limit: Duration

    /// Creates a time limit for attempts.
    /// - Parameter limit: The longest time from the attempt's start to its response's head.
    public init(_ limit: Duration = .seconds(10)) { self.limit = limit }

    /// Runs the rest of the chain within the limit.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if request.options.isOneTime { return try await next(request) }
        if let left = context.timeLeft, left <= limit {
            return try await next.promptly(request, in: context.child())
        }
        return try await next(request, within: limit, upTo: .head) { limit in
            ClientError(
                .attemptTimeout, "no response came within \(limit.text)",
                transfer: TransferState(.sending))
        }
    }
}

extension AttemptTimeout: Heeding {
    package var heed: Heed { .always }
}

extension Gate where Self == AttemptTimeout {
    /// Ends an attempt without a response; see ``AttemptTimeout/init(_:)``.
    public static func attemptTimeout(_ limit: Duration = .seconds(10)) -> Self {
        AttemptTimeout(limit)
    }
}
