public import TurnpikeCore

/// Ends a transfer whose body stands still, or drips too slowly.
///
/// Time counts only while the reader waits for a chunk: a slow reader is no idle server. It fails
/// the read as ``/TurnpikeCore/ClientError/Code/idleTimeout``.
public struct IdleTimeout: Interceptor {
    private let limit: Duration
    private let minBytes: Int
    private let window: Duration

    /// Creates a limit on standing still.
    /// - Parameters:
    ///   - limit: The longest wait for a chunk.
    ///   - minBytesPerSecond: The slowest rate over a window of waiting; 0 sets none.
    ///   - window: How much time of waiting a rate is measured over.
    public init(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) {
        self.limit = limit
        minBytes = Int(min(window.inSeconds * Double(minBytesPerSecond), 1e15))
        self.window = window
    }

    /// Watches the response's body.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if request.options.isStreaming || request.options.isOneTime {
            return try await next(request)
        }
        // What a retry keeps of the content has come before its response comes here.
        let bound = IdleBound(limit, minBytes: minBytes, window: window)
        let response =
            next.retries
            ? try await next(request, context: context.child(idleBound: bound))
            : try await next(request)
        response.body.limitIdleTime(
            to: limit, minBytes: minBytes, window: window, timeSource: context.timeSource)
        return response
    }
}

extension IdleTimeout: Heeding {}

extension Gate where Self == IdleTimeout {
    /// Ends a transfer whose body stands still; see
    /// ``IdleTimeout/init(_:minBytesPerSecond:window:)``.
    public static func idleTimeout(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) -> Self {
        IdleTimeout(limit, minBytesPerSecond: minBytesPerSecond, window: window)
    }
}
