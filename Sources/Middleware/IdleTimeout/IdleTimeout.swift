import Synchronization
public import TurnpikeCore

/// Ends a transfer whose body stands still, or drips too slowly.
///
/// Time counts only while the reader waits for a chunk: a slow reader is no idle server. It fails
/// the read as ``/TurnpikeCore/ClientError/Code/idleTimeout``.
public struct IdleTimeout: Interceptor {
    private let limit: Duration
    private let minBytesPerSecond: Int
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
        self.minBytesPerSecond = minBytesPerSecond
        self.window = window
    }

    /// Watches the response's body.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let response = try await next(request)
        if response.body.isEmpty || request.options.isStreaming { return response }
        let watch = IdleWatch(
            limit: limit, minBytes: Int(min(window.inSeconds * Double(minBytesPerSecond), 1e15)),
            window: window,
            timeSource: context.timeSource, canceller: response.body.canceller)
        response.body.onPull { watch.begin() }
        response.body.onChunk { try watch.end(bytes: $0.count) }
        response.body.onEnd { _ in watch.stop() }
        return response
    }
}

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

/// The clock of one body, which runs while a pull is outstanding.
private final class IdleWatch: Sendable {
    private struct State {
        var timer: (any TimerToken)?
        var began: MonotonicInstant?
        var waited: Duration = .zero
        var bytes = 0
    }

    private let limit: Duration
    private let minBytes: Int
    private let window: Duration
    private let timeSource: any TimeSource
    private let canceller: ResponseBody.Canceller
    private let state = Mutex(State())

    init(
        limit: Duration, minBytes: Int, window: Duration, timeSource: any TimeSource,
        canceller: ResponseBody.Canceller
    ) {
        self.limit = limit
        self.minBytes = minBytes
        self.window = window
        self.timeSource = timeSource
        self.canceller = canceller
    }

    func begin() {
        let canceller = canceller
        let error = ClientError(
            .idleTimeout, "no byte of the body came for \(limit.text)",
            transfer: TransferState(.receiving))
        let timer = timeSource.schedule(after: limit) { canceller.cancel(.failed(error)) }
        state.withLock { state in
            state.timer = timer
            state.began = timeSource.now
        }
    }

    func end(bytes: Int) throws {
        let (timer, isTooSlow) = state.withLock { state in
            defer {
                state.timer = nil
                state.began = nil
            }
            guard minBytes > 0, let began = state.began else { return (state.timer, false) }
            state.waited += began.duration(to: timeSource.now)
            state.bytes += bytes
            guard state.waited >= window else { return (state.timer, false) }
            defer {
                state.waited = .zero
                state.bytes = 0
            }
            // The window may have been overshot by the last wait.
            let wanted = Double(minBytes) * (state.waited.inSeconds / window.inSeconds)
            return (state.timer, Double(state.bytes) < wanted)
        }
        timer?.cancel()
        guard isTooSlow else { return }
        throw ClientError(
            .idleTimeout,
            "the body came slower than \(minBytes) bytes in \(window.text)",
            transfer: TransferState(.receiving))
    }

    func stop() {
        let timer = state.withLock { state in
            defer { state.timer = nil }
            return state.timer
        }
        timer?.cancel()
    }
}
