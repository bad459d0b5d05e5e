public import TurnpikeCore
import TurnpikeSupport

/// Ends a transfer whose body stalls, or arrives too slowly.
///
/// Time counts only while the reader waits for a chunk, so a slow reader does not make a server
/// idle. It no longer counts once the whole body has arrived. The read fails as
/// ``/TurnpikeCore/ClientError/Code/idleTimeout``.
public struct IdleTimeout: Interceptor {
    private let limit: Duration
    private let minBytes: Int
    private let window: Duration

    /// Creates a limit on idle time.
    /// - Parameters:
    ///   - limit: The longest wait for a chunk.
    ///   - minBytesPerSecond: The lowest rate, averaged over a window of waiting time; 0 sets none.
    ///   - window: The waiting time over which the rate is averaged.
    public init(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) {
        self.limit = limit
        minBytes = Int(min(window.inSeconds * Double(minBytesPerSecond), 1e15))
        self.window = window
    }

    /// Limits the idle time of the response's body.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if request.options.isStreaming || request.options.isOneTime {
            return try await next(request)
        }
        // A retry inside may read content before its response arrives here. The context carries the
        // bound to that read.
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

extension IdleTimeout: PromptlyCancellable {}

extension IdleTimeout {
    init(settings: Settings) {
        self.init(
            settings.seconds("seconds", default: .seconds(30)),
            minBytesPerSecond: settings.int(
                "minBytesPerSecond", default: 0, in: 0...1_000_000_000_000),
            window: settings.seconds("window", default: .seconds(10)))
    }
}

extension Gate where Self == IdleTimeout {
    /// Ends a transfer whose body stalls; see ``IdleTimeout/init(_:minBytesPerSecond:window:)``.
    public static func idleTimeout(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) -> Self {
        IdleTimeout(limit, minBytesPerSecond: minBytesPerSecond, window: window)
    }
}
