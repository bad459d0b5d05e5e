// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The current bearer token, and the refresh that replaces it.
///
/// ```swift
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// let client = Client(baseURL: "https://api.example.com/", stack: [.redirect(), .bearer(tokens)])
/// ```
///
/// Gates of several clients may share one ``BearerTokens``. If many calls need a new token, the
/// provider is called only once:
///
/// - A refresh runs in a separate task. The result of a refresh is stored even if no caller waits
///   for the result. If a refresh token works only once, this result is the only valid token.
///   Cancelled calls, ``/TurnpikeCore/Client/cancelAll()`` and the time limits of gates do not end
///   a refresh. ``/TurnpikeCore/Client/shutdown(grace:cancellingWith:)`` waits for a refresh at
///   most ``RefreshPolicy/timeLimit``.
/// - A call waits for a refresh at most ``RefreshPolicy/timeLimit``. The wait ends earlier if the
///   call is cancelled or reaches its deadline. After the limit, later calls start another refresh.
///   If the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``), later
///   calls wait for the response to the first refresh instead, up to ``RefreshPolicy/answerLimit``.
/// - If a refresh fails, all calls that wait for it fail. Calls whose refused request was signed
///   before the failure fail too. The next call starts a refresh immediately. If that refresh fails
///   too, a pause begins. During the pause, calls that need a token fail with the same cause. The
///   pause grows with each failure. It is at least as long as the endpoint's `Retry-After`.
/// - At most ``RefreshPolicy/maxRefreshes`` refused tokens are replaced within
///   ``RefreshPolicy/window``.
/// - A token close to its expiry is replaced in the background, while calls continue to use it. An
///   expired token is replaced before anything is sent.
///
/// With a ``BearerTokenSharing``, the replicas of a service share one token.
public final class BearerTokens: Sendable {
    /// A token with the number of earlier tokens and of earlier failures.
    struct Credential: Sendable {
        let token: BearerToken
        let generation: UInt64
        let failures: UInt64
    }

    private static let gate = "BearerAuthentication"

    private let onRefresh: (@Sendable (BearerToken) -> Void)?
    private let state: Mutex<TokenState>
    private let sharing: (any BearerTokenSharing)?

    // The `BearerTokens` objects whose refresh runs in the current task. The requests of this task
    // are not signed, because a signed request would wait for the refresh that sends the request.
    @TaskLocal private static var underWay: Set<ObjectIdentifier> = []

    /// Creates an object for one token.
    /// - Parameters:
    ///   - token: The first token. If nil, the first call gets a token from the provider.
    ///   - provider: Gets new tokens. If nil, a token is never replaced.
    ///   - policy: When and how often tokens are replaced.
    ///   - requestedScope: The scope that the provider requests. A change of the scope replaces the
    ///     token (``update(policy:provider:requestedScope:)``).
    ///   - sharing: Shares one token among several replicas. If nil, this process has its own
    ///     token. Without a provider, the sharing has no effect. Each object needs its own sharing.
    ///   - onRefresh: A closure that receives each new token, for instance to save it, before the
    ///     waiting calls continue. The closure must return quickly.
    public init(
        _ token: BearerToken? = nil, provider: (any BearerTokenProvider)? = nil,
        policy: RefreshPolicy = .standard, requestedScope: [String] = [],
        sharing: (any BearerTokenSharing)? = nil,
        onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) {
        self.onRefresh = onRefresh
        self.sharing = sharing
        state = Mutex(
            TokenState(
                token, policy, provider, requestedScope: requestedScope, isShared: sharing != nil))
    }

    /// The current token, or nil.
    public var current: BearerToken? { state.withLock { $0.token } }

    /// Replaces the current token, for instance after a sign-in, or removes the current token.
    ///
    /// If the new token is nil, the current token is removed. Only this method ends a running
    /// refresh and drops the result.
    ///
    /// With a ``BearerTokenSharing``, this method also replaces the token of the other replicas, in
    /// the background. A replica reads the new token when its own token is refused or expires soon.
    public func replace(with token: BearerToken?) {
        let (refreshes, scope) = state.withLock { state in
            state.replace(with: token)
            return (state.takeRefreshes(alsoPresent: true), state.requestedScope)
        }
        sharing?.replace(with: token, scope: scope)
        for refresh in refreshes { refresh.settle(.success(())) }
    }

    /// Replaces the policy and the provider, but not the token.
    ///
    /// If the requested scope has changed, the next call replaces the token.
    public func update(
        policy: RefreshPolicy, provider: (any BearerTokenProvider)?, requestedScope: [String] = []
    ) {
        state.withLock { $0.update(policy, provider, requestedScope: requestedScope) }
    }

    var canRefresh: Bool { state.withLock { $0.canRefresh } }

    /// Returns the longest time that a call waits for a token, or nil if tokens are never replaced.
    var longestWait: Duration? {
        state.withLock { $0.canRefresh ? $0.policy.timeLimit : nil }
    }

    var sharedUse: GateEffect? { sharing?.effect }

    var isRefreshingHere: Bool { Self.underWay.contains(ObjectIdentifier(self)) }

    func credential(in context: Context, next: Next) async throws -> Credential {
        try await take(context, next) { $0.step($1) }
    }

    /// Returns the credential to use after the server refused another credential.
    func credential(
        after refused: Credential, in context: Context, next: Next
    ) async throws -> Credential {
        try await take(context, next) { $0.step(after: refused, $1) }
    }

    // Makes the next call replace a refused token. The caller cannot send its request again.
    func refuse(_ credential: Credential) { state.withLock { $0.refuse(credential) } }

    /// Waits for a running refresh, at most ``RefreshPolicy/timeLimit``.
    func waitForRefresh() async {
        let (refresh, limit) = state.withLock { ($0.refresh, $0.policy.timeLimit) }
        await refresh?.end(within: limit)
    }

    private func take(
        _ context: Context, _ next: Next,
        _ step: (inout TokenState, any TimeSource) -> TokenState.Step
    ) async throws -> Credential {
        let start = context.timeSource.now
        sharing?.use(context.timeSource) { context.report($0, by: Self.gate) }
        while true {
            switch state.withLock({ step(&$0, context.timeSource) }) {
            case .fail(let error): throw error
            case .use(let credential, let refresh, let old):
                if let refresh { begin(refresh, replacing: old, context, next) }
                return credential
            case .wait(let refresh, let isNew, let old):
                // If this call starts the refresh, the wait includes the exchange of the refresh.
                try await context.report(waitingFor: "refresh of the token") { context in
                    if isNew { begin(refresh, replacing: old, context, next) }
                    // If a second refresh replaces this refresh, the call's time limit does not
                    // restart.
                    let limit = state.withLock { $0.policy.timeLimit }
                    let waited = start.duration(to: context.timeSource.now)
                    try await refresh.wait(in: context, until: limit - waited, of: limit)
                }
                if let credential = try state.withLock({ try $0.credential(behind: refresh) }) {
                    return credential
                }
            }
        }
    }

    private func begin(
        _ refresh: TokenRefresh, replacing old: BearerToken?, _ context: Context, _ next: Next
    ) {
        let provider = refresh.provider
        let policy = state.withLock { $0.policy }
        let inner = context.sideCall(isOneTime: true)
        let exchange = TokenExchange(
            next: next, context: inner, isOneTime: provider.spendsRefreshToken)
        let underWay = Self.underWay.union([ObjectIdentifier(self)])
        let timer = AnswerTimer()
        // Calls the provider, and starts the time limit for its response.
        let request: @Sendable (BearerToken?) async throws -> BearerToken = { [self] old in
            let limit = policy.answerLimit
            timer.start(
                inner.timeSource.schedule(after: limit) { [self] in
                    finish(
                        refresh, .failure(TokenRefresh.late(limit)), at: inner.timeSource.date,
                        in: inner)
                })
            return try await provider.token(replacing: old, by: exchange)
        }
        let shared = SharedRefresh(
            old: old, isLook: refresh.isLook, scope: refresh.requestedScope, policy: policy,
            spends: provider.spendsRefreshToken, context: inner,
            note: { context.report($0, by: Self.gate) }, request: request)
        // The task belongs to no caller and to no client. After the request, the old token may be
        // spent, and only the response contains the new token. The task ends when the provider
        // returns or throws. The search in a shared store before the provider's call has a separate
        // limit. The end of `answerLimit` and a token from outside settle the refresh too. A
        // client's `shutdown` waits for the refresh.
        let task = Task.apart { [self] in
            do {
                let token = try await Self.$underWay.withValue(underWay) {
                    guard let sharing else { return try await request(old) as BearerToken? }
                    return try await sharing.token(for: shared)
                }
                finish(refresh, .success(token), at: exchange.date, in: inner)
            } catch {
                finish(refresh, .failure(error), at: exchange.date, in: inner)
            }
        }
        refresh.whenSettled {
            timer.cancel()
            inner.cancel(.handle)
            task.cancel()
        }
    }

    private func finish(
        _ refresh: TokenRefresh, _ result: Result<BearerToken?, any Error>, at date: Date,
        in context: Context
    ) {
        let (now, unit) = (context.timeSource.now, context.random.unit())
        let (outcome, others) = state.withLock { state in
            let outcome = state.finish(refresh, result, at: date, now, unit: unit)
            guard case .success = outcome else { return (outcome, [TokenRefresh]()) }
            return (outcome, state.takeRefreshes(alsoPresent: false))
        }
        if case .success(let token?) = result, case .success = outcome { onRefresh?(token) }
        for other in others { other.settle(.success(())) }
        // A refresh must be settled even if no call waits for the refresh.
        refresh.settle(outcome ?? .success(()))
    }
}

/// The time limit for a provider's response, which starts when the provider is called.
private final class AnswerTimer: Sendable {
    private enum State {
        case waiting
        case running(any TimerToken)
        case cancelled
    }

    private let state = Mutex(State.waiting)

    func start(_ timer: any TimerToken) {
        let isLate = state.withLock { state in
            if case .cancelled = state { return true }
            state = .running(timer)
            return false
        }
        if isLate { timer.cancel() }
    }

    func cancel() {
        let timer = state.withLock { state -> (any TimerToken)? in
            defer { state = .cancelled }
            if case .running(let timer) = state { return timer }
            return nil
        }
        timer?.cancel()
    }
}
