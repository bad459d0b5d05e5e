// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
public import TurnpikeSupport

/// One refresh, for which any number of calls may wait.
final class TokenRefresh: Sendable {
    let generation: UInt64
    let requestedScope: [String]
    let provider: any BearerTokenProvider
    // Whether the refresh only searches for a token of other replicas. If the search finds no other
    // token, the current token may be used.
    let isLook: Bool
    let begin: MonotonicInstant
    private let timeSource: any TimeSource
    private let outcome = SharedValue<Void>()

    init(
        replacing generation: UInt64, by provider: any BearerTokenProvider,
        requestedScope: [String], isLook: Bool,
        timeSource: any TimeSource
    ) {
        self.generation = generation
        self.provider = provider
        self.requestedScope = requestedScope
        self.isLook = isLook
        self.timeSource = timeSource
        begin = timeSource.now
    }

    // Ends the refresh. Only the first call of this method has an effect.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    // Waits for the end of the refresh. A cancellation or a limit ends the wait.
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

    // Waits for the end of the refresh, successful or not. A cancellation does not end the wait.
    func end(within limit: Duration) async {
        let waiter = OneShot<Void>()
        outcome.whenSettled { waiter.settle(.success(())) }
        let timer = timeSource.schedule(after: limit) { waiter.settle(.success(())) }
        defer { timer.cancel() }
        try? await waiter.value {}
    }

    static func late(_ limit: Duration) -> ClientError {
        ClientError(.auth, "the token's refresh took longer than \(limit.text)")
    }
}

/// An error of a ``BearerTokenProvider`` with the time until the next request is allowed.
public protocol TokenRefusal: Error {
    /// The time until the provider may send another request, or nil if the time is not known.
    var retryAfter: Duration? { get }
}

/// Sends the requests of a ``BearerTokenProvider``.
public struct TokenExchange: Sendable {
    /// The context of the refresh.
    ///
    /// No call and no client ends this context. The context ends after
    /// ``RefreshPolicy/answerLimit``, or when another token is installed.
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
    /// The bearer gate adds no credential to the request. The request is not an attempt of a call.
    public func send(_ request: Request) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await next(request, context: context)
    }

    /// Sends a request as ``send(_:)`` does, and follows redirects with the given gate.
    public func send(_ request: Request, through redirect: Redirect) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await redirect.intercept(
            request, context: context, next: next.bound(to: context))
    }

    /// Returns the request.
    ///
    /// If a request may spend the old refresh token, the returned request must be sent only once.
    public func prepared(_ request: Request) -> Request {
        var request = request
        if isOneTime, !request.method.isIdempotent { request.options.isOneTime = true }
        return request
    }
}

/// The pauses after several failed refreshes.
///
/// After the first failure, the next call tries again immediately. From the second failure on, the
/// pause grows. Jitter keeps the callers of a failing endpoint from returning at the same time. A
/// `Retry-After` of the endpoint applies from the first failure on.
struct RefreshPauses {
    private var failures = 0
    private var end: MonotonicInstant?

    private static let first = 0.25
    private static let longest = 30.0
    /// The longest `Retry-After` for which a refresh waits.
    private static let longestWish = Duration.seconds(300)

    /// Returns the time until the next refresh may begin, or nil if the refresh may begin now.
    func timeLeft(at now: MonotonicInstant) -> Duration? {
        guard let end, now < end else { return nil }
        return now.duration(to: end)
    }

    // Records a failure. The error may have a `Retry-After`. `unit` is random, from 0 to 1.
    mutating func failed(
        _ error: any Error, at date: Date, _ now: MonotonicInstant, unit: Double
    ) {
        failures += 1
        let grown =
            failures < 2 ? 0 : min(Self.first * pow(2, Double(min(failures - 2, 16))), Self.longest)
        let pause = Duration.seconds(grown * (0.5 + unit / 2))
        end = now.advanced(by: max(pause, Self.wish(of: error, at: date)))
    }

    // Returns the `Retry-After` of the outermost error that has a `Retry-After`.
    private static func wish(of error: any Error, at date: Date) -> Duration {
        var cause: (any Error)? = error
        var wish: Duration?
        // The loop looks at eight nested errors at most.
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

/// Shares one token among several replicas.
///
/// One replica refreshes the token for all replicas.
///
/// An object serves one ``BearerTokens``, which requests one token at a time. `SharedTokens` in
/// `TurnpikeSharedState` keeps the token in a store.
public protocol BearerTokenSharing: Sendable {
    /// The effect that the bearer gate reports for shared tokens.
    var effect: GateEffect { get }

    /// Returns a new token from a replica or from the provider, or nil for the current token.
    func token(for refresh: SharedRefresh) async throws -> BearerToken?

    /// Replaces the token of all replicas. If the new token is nil, the token is removed.
    /// - Parameters:
    ///   - token: The new token, or nil.
    ///   - scope: The requested scope.
    func replace(with token: BearerToken?, scope: [String])

    /// Sets the clock and the log for work in the background. Each call for a token calls this
    /// method.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void)
}

/// One refresh of this replica's token, for a ``BearerTokenSharing``.
public struct SharedRefresh: Sendable {
    /// The token to replace.
    public let old: BearerToken?
    /// Whether the current token may be used if no other replica has a token.
    public let isLook: Bool
    /// The requested scope.
    public let scope: [String]
    /// When and how often tokens are refreshed.
    public let policy: RefreshPolicy
    /// Whether the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``).
    public let spends: Bool
    /// The context with the clock and the cancellation of the refresh.
    public let context: Context
    /// Reports an event, without secrets.
    public let note: @Sendable (String) -> Void
    /// Gets a token from the provider that replaces the given token.
    public let request: @Sendable (BearerToken?) async throws -> BearerToken
}
