// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The current bearer token, and its refresh if one is under way.
///
/// ```swift
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// let client = Client(baseURL: "https://api.example.com/", stack: [.redirect(), .bearer(tokens)])
/// ```
///
/// Gates of several clients may share one store. If many calls need a new token, the provider is
/// called only once:
///
/// - A refresh runs in a separate task. Its result is kept even if no caller waits any more: if a
///   refresh token works only once, the answer holds the only valid token. Cancelled calls,
///   ``/TurnpikeCore/Client/cancelAll()`` and the time limits of gates do not end a refresh.
///   ``/TurnpikeCore/Client/shutdown(grace:cancellingWith:)`` waits for a refresh, as long as a
///   call would.
/// - A call waits for a refresh at most ``RefreshPolicy/timeLimit``. It stops waiting when it is
///   cancelled or meets its deadline. After the limit, later calls begin another refresh. But if
///   the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``), these calls
///   wait for the same answer, up to ``RefreshPolicy/answerLimit``.
/// - The failure of a refresh reaches all calls that wait for it, and all calls whose refused
///   request was signed before the failure. The next call tries again at once. If that refresh
///   fails too, a pause begins, in which calls that need a token fail with the same cause. The
///   pause grows with each failure, and is at least as long as the endpoint's `Retry-After`.
/// - Refused tokens are replaced ``RefreshPolicy/maxRefreshes`` times at most.
/// - A token close to its expiry is replaced in the background, while calls go on using it. An
///   expired token is replaced before anything is sent.
///
/// With a ``BearerTokenSharing`` the replicas of a service have one token, which one of them refreshes.
public final class BearerTokens: Sendable {
    /// A token, and how many tokens and failures came before it.
    struct Credential: Sendable {
        let token: BearerToken
        let generation: UInt64
        let failures: UInt64
    }

    private static let gate = "BearerAuthentication"

    private let onRefresh: (@Sendable (BearerToken) -> Void)?
    private let state: Mutex<TokenState>
    private let sharing: (any BearerTokenSharing)?

    // The stores for whose refresh the current task runs. The task's requests are not signed;
    // otherwise, they would wait for themselves.
    @TaskLocal private static var underWay: Set<ObjectIdentifier> = []

    /// Creates a store.
    /// - Parameters:
    ///   - token: The first token; if nil, the provider is asked at the first call.
    ///   - provider: Gets new tokens; if nil, a token is never replaced.
    ///   - policy: When and how often tokens are replaced.
    ///   - requestedScope: The scope that the provider asks for; a change of the scope replaces the
    ///     token (``update(policy:provider:requestedScope:)``).
    ///   - sharing: Gives several replicas one token; nil if this process has its own token.
    ///     Sharing has no effect without a provider, and belongs to this object alone.
    ///   - onRefresh: Runs with each new token, for instance to save it, before the calls that wait
    ///     for it continue. It must return at once.
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

    /// Replaces the current token, after a sign-in for instance; nil removes it.
    ///
    /// Only this method ends a refresh under way and drops its result.
    ///
    /// With a ``BearerTokenSharing``, it also replaces the token of the other replicas, in the
    /// background. A replica takes the new token when its token is refused or close to its expiry.
    public func replace(with token: BearerToken?) {
        let (refreshes, scope) = state.withLock { state in
            state.replace(with: token)
            return (state.takeRefreshes(alsoPresent: true), state.requestedScope)
        }
        sharing?.replace(with: token, scope: scope)
        for refresh in refreshes { refresh.settle(.success(())) }
    }

    /// Replaces the policy and the provider; the token stays.
    ///
    /// If the requested scope has changed, the next call replaces the token.
    public func update(
        policy: RefreshPolicy, provider: (any BearerTokenProvider)?, requestedScope: [String] = []
    ) {
        state.withLock { $0.update(policy, provider, requestedScope: requestedScope) }
    }

    /// Whether there is a provider that can replace a refused token.
    var canRefresh: Bool { state.withLock { $0.canRefresh } }

    /// How long a call waits for a token at most; nil if tokens are never replaced.
    var longestWait: Duration? {
        state.withLock { $0.canRefresh ? $0.policy.timeLimit : nil }
    }

    /// The effect of a gate whose token several replicas share; nil if they share none.
    var sharedUse: GateEffect? { sharing?.effect }

    /// Whether the current task works for a refresh of this token.
    var isRefreshingHere: Bool { Self.underWay.contains(ObjectIdentifier(self)) }

    /// The credential for a request.
    func credential(in context: Context, next: Next) async throws -> Credential {
        try await take(context, next) { $0.step($1) }
    }

    /// The credential to use after one was refused.
    func credential(
        after refused: Credential, in context: Context, next: Next
    ) async throws -> Credential {
        try await take(context, next) { $0.step(after: refused, $1) }
    }

    /// Makes the next call replace a refused token, for a request that cannot be sent again.
    func refuse(_ credential: Credential) { state.withLock { $0.refuse(credential) } }

    /// Waits for a refresh under way, as long as a call would.
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
                // If this call begins the refresh, the refresh's exchange is part of the wait.
                try await context.report(waitingFor: "refresh of the token") { context in
                    if isNew { begin(refresh, replacing: old, context, next) }
                    // A refresh that takes the place of another does not prolong the wait.
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
        let (provider, policy) = state.withLock { ($0.provider, $0.policy) }
        guard let provider else { return }
        let inner = context.sideCall(isOneTime: true)
        let exchange = TokenExchange(
            next: next, context: inner, isOneTime: provider.spendsRefreshToken)
        let underWay = Self.underWay.union([ObjectIdentifier(self)])
        let timer = AnswerTimer()
        // Calls the provider, within the time limit for its answer.
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
        // spent, and only the answer has the new token. The task ends when the provider returns or
        // throws. The search in the store before that has a separate limit. The limit for answers,
        // or a token that is installed meanwhile, also settles the refresh. A client's `shutdown`
        // waits for the refresh.
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
        // A refresh without waiting calls must end as well.
        refresh.settle(outcome ?? .success(()))
    }
}

/// The time limit for a provider's answer, which begins when the provider is asked.
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
