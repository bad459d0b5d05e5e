// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// One refresh, which is settled once and awaited by any number of calls.
final class TokenRefresh: Sendable {
    /// The generation of the token to replace.
    let generation: UInt64
    /// The scope that the provider was created to request.
    let requestedScope: [String]
    /// Whether the refresh only looks for a token of other replicas; the present token may be used.
    let isLook: Bool
    /// When the refresh began.
    let begin: MonotonicInstant
    private let timeSource: any TimeSource
    private let outcome = SharedValue<Void>()

    init(
        replacing generation: UInt64, requestedScope: [String], isLook: Bool,
        timeSource: any TimeSource
    ) {
        self.generation = generation
        self.requestedScope = requestedScope
        self.isLook = isLook
        self.timeSource = timeSource
        begin = timeSource.now
    }

    /// Ends the refresh; only the first end counts.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    /// Waits for the end of the refresh.
    ///
    /// A cancellation of the task or of the context, or the end of a limit, ends the wait.
    func wait(in context: Context, until left: Duration, of limit: Duration) async throws {
        var registration: CancelRegistration?
        var timer: (any TimerToken)?
        defer {
            registration?.end()
            timer?.cancel()
        }
        try await outcome.value { waiter in
            registration = context.onCancel { waiter.settle(.failure($0.error)) }
            timer = timeSource.schedule(after: left) {
                waiter.settle(.failure(TokenState.failure(Self.late(limit))))
            }
        }
    }

    /// Waits for the end of the refresh, successful or not; a cancellation does not end the wait.
    func end(within limit: Duration) async {
        let waiter = OneShot<Void>()
        outcome.whenSettled { waiter.settle(.success(())) }
        let timer = timeSource.schedule(after: limit) { waiter.settle(.success(())) }
        defer { timer.cancel() }
        try? await waiter.value {}
    }

    /// The error of a call that has waited too long.
    static func late(_ limit: Duration) -> ClientError {
        ClientError(.auth, "the token's refresh took longer than \(limit.text)")
    }
}

/// An error with which a ``BearerTokenProvider`` says when it may be asked again.
public protocol TokenRefusal: Error {
    /// The time until then; nil if it is not known.
    var retryAfter: Duration? { get }
}

/// Sends the requests of a ``BearerTokenProvider``.
public struct TokenExchange: Sendable {
    /// The context of the refresh.
    ///
    /// No call and no client ends it; it ends after ``RefreshPolicy/answerLimit``, or when another
    /// token is installed.
    public let context: Context
    private let next: Next
    private let isOneTime: Bool

    init(next: Next, context: Context, isOneTime: Bool) {
        self.next = next
        self.context = context
        self.isOneTime = isOneTime
    }

    /// The current time on the wall clock, for ``BearerToken/expires``.
    public var date: Date { context.timeSource.date }

    /// Sends a request through the inner gates of the bearer gate and the client's transport.
    ///
    /// The request carries no credential but its own. It does not count as a send of a call.
    public func send(_ request: Request) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await next(request, context: context)
    }

    /// Sends a request as ``send(_:)`` does, and follows redirects with a gate.
    public func send(_ request: Request, through redirect: Redirect) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await redirect.intercept(
            request, context: context, next: next.bound(to: context))
    }

    /// The request, marked as one that is sent once if it could spend the old refresh token.
    public func prepared(_ request: Request) -> Request {
        var request = request
        if isOneTime, !request.method.isIdempotent { request.options.isOneTime = true }
        return request
    }
}

/// The pauses after refreshes that failed, one after the other.
///
/// The first failure may be an accident, so the next call tries again at once. From the second on
/// the pause grows, with jitter, so that the callers of a failing endpoint do not return all at
/// once. A pause that the endpoint asks for counts from the first failure on.
struct RefreshPauses {
    private var failures = 0
    private var end: MonotonicInstant?

    private static let first = 0.25
    private static let longest = 30.0
    /// A longer pause that an endpoint asks for is cut to this value.
    private static let longestWish = Duration.seconds(300)

    /// The time until the next refresh may begin; nil if it may begin now.
    func timeLeft(at now: MonotonicInstant) -> Duration? {
        guard let end, now < end else { return nil }
        return now.duration(to: end)
    }

    /// Records a failure.
    /// - Parameters:
    ///   - error: The cause, which may say when to try again.
    ///   - date: The date, for a `Retry-After` that names one.
    ///   - now: When the refresh failed.
    ///   - unit: A random number from 0 to 1.
    mutating func failed(
        _ error: any Error, at date: Date, _ now: MonotonicInstant, unit: Double
    ) {
        failures += 1
        let grown =
            failures < 2 ? 0 : min(Self.first * pow(2, Double(min(failures - 2, 16))), Self.longest)
        let pause = Duration.seconds(grown * (0.5 + unit / 2))
        end = now.advanced(by: max(pause, Self.wish(of: error, at: date)))
    }

    // The pause that the outermost error with a `Retry-After` asks for.
    private static func wish(of error: any Error, at date: Date) -> Duration {
        var cause: (any Error)? = error
        var wish: Duration?
        // Looks at eight nested errors at most.
        for _ in 0..<8 where wish == nil {
            if let error = cause as? ClientError {
                wish = error.retryAfter ?? error.response?.headers.retryAfter(at: date)
                cause = error.underlying
            } else {
                wish = (cause as? any TokenRefusal)?.retryAfter
                cause = nil
            }
        }
        return min(max(wish ?? .zero, .zero), longestWish)
    }
}
