// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
public import TurnpikeSupport

/// One refresh, for which any number of calls may wait.
final class TokenRefresh: Sendable {
    let generation: UInt64
    let requestedScope: [String]
    // Whether the refresh only looks for a token of other replicas. If so, the current token may be
    // used.
    let isLook: Bool
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

    // Ends the refresh. Only the first call of this method has an effect.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    // Waits for the end of the refresh. If the task or the context is cancelled, or a limit ends,
    // the wait ends too.
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

/// An error of a ``BearerTokenProvider`` that says when to ask again.
public protocol TokenRefusal: Error {
    /// The time until the provider may be asked again, or nil if it is not known.
    var retryAfter: Duration? { get }
}

/// Sends the requests of a ``BearerTokenProvider``.
public struct TokenExchange: Sendable {
    /// The context of the refresh.
    ///
    /// Calls and clients do not end this context. The context ends after
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
    /// The gate adds no credential to the request. The request does not count as a send of a call.
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
    /// A request that may spend the old refresh token is marked to be sent only once.
    public func prepared(_ request: Request) -> Request {
        var request = request
        if isOneTime, !request.method.isIdempotent { request.options.isOneTime = true }
        return request
    }
}

/// The pauses after several failed refreshes.
///
/// The first failure may be an accident, so the next call tries again immediately. From the second
/// failure on, the pause grows, with jitter, so that the callers of a failing endpoint do not all
/// return at once. A pause that the endpoint asks for counts from the first failure on.
struct RefreshPauses {
    private var failures = 0
    private var end: MonotonicInstant?

    private static let first = 0.25
    private static let longest = 30.0
    /// If an endpoint asks for a longer pause, the pause is this long.
    private static let longestWish = Duration.seconds(300)

    /// Returns the time until the next refresh may begin, or nil if it may begin now.
    func timeLeft(at now: MonotonicInstant) -> Duration? {
        guard let end, now < end else { return nil }
        return now.duration(to: end)
    }

    // Records a failure. The error may say when to try again, and `unit` is a random number from 0
    // to 1.
    mutating func failed(
        _ error: any Error, at date: Date, _ now: MonotonicInstant, unit: Double
    ) {
        failures += 1
        let grown =
            failures < 2 ? 0 : min(Self.first * pow(2, Double(min(failures - 2, 16))), Self.longest)
        let pause = Duration.seconds(grown * (0.5 + unit / 2))
        end = now.advanced(by: max(pause, Self.wish(of: error, at: date)))
    }

    // Returns the pause that the outermost error with a `Retry-After` asks for.
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

/// Gives several replicas one token, which one replica refreshes for all.
///
/// An object works for one ``BearerTokens``, which asks for one token at a time. `SharedTokens` in
/// `TurnpikeSharedState` keeps the token in a store.
public protocol BearerTokenSharing: Sendable {
    /// The effect of shared tokens, which the gate states.
    var effect: GateEffect { get }

    /// Returns a new token from another replica or from the provider, or nil to use the current
    /// token.
    func token(for refresh: SharedRefresh) async throws -> BearerToken?

    /// Replaces the token of all replicas, or removes it if the new token is nil.
    /// - Parameters:
    ///   - token: The new token, from outside of this object.
    ///   - scope: The requested scope.
    func replace(with token: BearerToken?, scope: [String])

    /// Sets the clock and the log for work in the background. Each call that needs a token sets
    /// both.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void)
}

/// One refresh of this replica's token, for a ``BearerTokenSharing``.
public struct SharedRefresh: Sendable {
    /// The token to replace.
    public let old: BearerToken?
    /// Whether the current token may be used if there is no other token.
    public let isLook: Bool
    /// The requested scope.
    public let scope: [String]
    /// When and how often tokens are refreshed.
    public let policy: RefreshPolicy
    /// Whether the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``).
    public let spends: Bool
    /// The clock and the cancellation of the refresh.
    public let context: Context
    /// Reports an event, without secrets.
    public let note: @Sendable (String) -> Void
    /// Asks the provider for a token that replaces the given token.
    public let request: @Sendable (BearerToken?) async throws -> BearerToken
}
