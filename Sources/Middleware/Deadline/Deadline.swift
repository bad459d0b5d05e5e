public import TurnpikeCore

/// Ends a call that takes longer than a limit.
///
/// It covers all that is inside it: queues, attempts, back-off, redirects, a token's refresh, and
/// the body until its last byte has come; of a call that streams, what comes before the body. Place
/// it outermost.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Deadline(.seconds(10))  // the call, with all its attempts
///     Retry(attempts: 3)
///     AttemptTimeout(.seconds(3))  // one attempt
/// }
/// ```
///
/// The caller gets ``/TurnpikeCore/ClientError/Code/deadlineExceeded`` at once; the transport
/// closes behind it, and nothing is sent after that. ``TurnpikeCore/Call/deadline(_:)`` sets
/// another limit for one call.
///
/// What is awaited can be left; a synchronous hook cannot. An adapter, a logger, a condition or a
/// judge that blocks its thread keeps the caller waiting past the limit, for as long as it blocks.
public struct Deadline: Interceptor {
    private let limit: Duration

    /// Creates a deadline.
    /// - Parameter limit: The longest time a call may take, its body included.
    public init(_ limit: Duration = .seconds(30)) { self.limit = limit }

    /// The deadline's option.
    public var handledOptions: [any RequestOptionKey.Type] { [DeadlineOption.self] }

    /// Runs the rest of the chain within the limit.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let options = request.options
        if options.isOneTime { return try await next(request) }
        let limit = options[DeadlineOption.self] ?? limit
        let extent: TimeLimitExtent = options.isStreaming ? .head : .body
        return try await next(request, within: limit, upTo: extent) { limit in
            ClientError(
                .deadlineExceeded, "the call was not done within its deadline of \(limit.text)")
        }
    }
}

extension Deadline: Heeding {
    package var heed: Heed { .always }
}

/// The deadline of one call.
public enum DeadlineOption: RequestOptionKey {
    /// A ``Deadline``.
    public static func gate(for value: Duration) -> (any Gate)? { Deadline(value) }
}

extension Gate where Self == Deadline {
    /// Ends a call that takes longer than a limit; see ``Deadline/init(_:)``.
    public static func deadline(_ limit: Duration = .seconds(30)) -> Self { Deadline(limit) }
}

extension Call {
    /// Ends this call when it takes longer than a limit, whatever the client's deadline is.
    public func deadline(_ limit: Duration) -> Call { option(DeadlineOption.self, limit) }
}
