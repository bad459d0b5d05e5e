import struct Foundation.Date
import Synchronization
import TurnpikeCore

/// The bearer token in force, and the one refresh that may be under way.
///
/// ```swift
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// let client = Client(baseURL: "https://api.example.com/", stack: [.redirect(), .bearer(tokens)])
/// ```
///
/// Gates of several clients may share one. However many calls need a new token, the provider is
/// asked once:
///
/// - A refresh runs in a task of its own, and what it brings is kept, whoever has given up by then: a
///   refresh token may be good for one time, so that the answer has the only one there is. Neither
///   calls that are cancelled, nor ``/TurnpikeCore/Client/cancelAll()``, nor the time limits of gates
///   end it; ``/TurnpikeCore/Client/shutdown(grace:)`` waits for it, as long as a call would.
/// - A call waits for it no longer than ``RefreshPolicy/timeLimit``, and leaves alone when it is
///   cancelled or meets its deadline. Where the provider spends a refresh token
///   (``BearerTokenProvider/spendsRefreshToken``), later calls wait for the same answer, up to
///   ``RefreshPolicy/answerLimit``; else they begin another refresh.
/// - Its failure reaches all who wait, and those whose refused request was signed before it failed.
///   The next call may try again, within ``RefreshPolicy/maxRefreshes``.
/// - A token that is near its end is replaced while calls go on with it; none waits for that. One
///   that has ended is waited for before anything is sent.
public final class BearerTokens: Sendable {
    /// A token and its place in the succession of tokens and failures.
    struct Credential: Sendable {
        let token: BearerToken
        let generation: UInt64
        let failures: UInt64
    }

    private let onRefresh: (@Sendable (BearerToken) -> Void)?
    private let state: Mutex<TokenState>

    // The tokens whose refresh the present task works for: its requests go unsigned, or they would
    // wait for themselves.
    @TaskLocal private static var underWay: Set<ObjectIdentifier> = []

    /// Creates a store.
    /// - Parameters:
    ///   - token: The token to begin with; nil asks the provider at the first call.
    ///   - provider: What gets new tokens; nil never does.
    ///   - policy: When and how often tokens are replaced.
    ///   - onRefresh: Runs with each new token, before the calls that wait for it go on, for
    ///     instance to save it; it must return at once.
    public convenience init(
        _ token: BearerToken? = nil, provider: (any BearerTokenProvider)? = nil,
        policy: RefreshPolicy = .standard, onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) {
        self.init(token, provider: provider, policy: policy, wishes: [], onRefresh: onRefresh)
    }

    init(
        _ token: BearerToken?, provider: (any BearerTokenProvider)?, policy: RefreshPolicy,
        wishes: [String], onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) {
        self.onRefresh = onRefresh
        state = Mutex(TokenState(token, policy, provider, wishes: wishes))
    }

    /// The token in force, or nil.
    public var current: BearerToken? { state.withLock { $0.token } }

    /// Puts another token in force, after a sign-in for instance; nil lets go of the present one.
    ///
    /// A refresh under way is ended, and what comes of it dropped: this alone does that.
    public func replace(with token: BearerToken?) {
        let refreshes = state.withLock { state in
            state.install(token, at: nil)
            return state.takeRefreshes(alsoPresent: true)
        }
        for refresh in refreshes { refresh.settle(.success(())) }
    }

    /// Puts other rules in force, and another provider for the same token; where its wishes are
    /// others, the next call has the token replaced.
    func update(
        _ policy: RefreshPolicy, _ provider: (any BearerTokenProvider)?, wishes: [String]
    ) {
        state.withLock { $0.update(policy, provider, wishes: wishes) }
    }

    /// Whether a refused token can be replaced.
    var canRefresh: Bool { state.withLock { $0.canRefresh } }

    /// Whether the present task works for a refresh of this token.
    var isRefreshingHere: Bool { Self.underWay.contains(ObjectIdentifier(self)) }

    /// The credential for a request.
    func credential(in context: Context, next: Next) async throws -> Credential {
        try await take(context, next) { $0.step($1) }
    }

    /// The credential that follows a refused one.
    func credential(
        after refused: Credential, in context: Context, next: Next
    ) async throws -> Credential {
        try await take(context, next) { $0.step(after: refused, $1) }
    }

    /// Lets the next call replace a refused token, where the present one cannot send again.
    func refuse(_ credential: Credential) { state.withLock { $0.refuse(credential) } }

    /// Waits for the answer to a refresh that is out, as long as a call would.
    func bringHome() async {
        let (refresh, limit) = state.withLock { ($0.refresh, $0.policy.timeLimit) }
        await refresh?.end(within: limit)
    }

    private func take(
        _ context: Context, _ next: Next,
        _ step: (inout TokenState, any TimeSource) -> TokenState.Step
    ) async throws -> Credential {
        let start = context.timeSource.now
        while true {
            switch state.withLock({ step(&$0, context.timeSource) }) {
            case .fail(let error): throw error
            case .use(let credential, let refresh, let old):
                if let refresh { begin(refresh, replacing: old, context, next) }
                return credential
            case .wait(let refresh, let isNew, let old):
                if isNew { begin(refresh, replacing: old, context, next) }
                // One that another takes the place of does not prolong the wait.
                let limit = state.withLock { $0.policy.timeLimit }
                let waited = start.duration(to: context.timeSource.now)
                try await refresh.wait(in: context, until: limit - waited, of: limit)
                if let credential = try state.withLock({ try $0.credential(behind: refresh) }) {
                    return credential
                }
            }
        }
    }

    private func begin(
        _ refresh: TokenRefresh, replacing old: BearerToken?, _ context: Context, _ next: Next
    ) {
        let (provider, limit) = state.withLock { ($0.provider, $0.policy.answerLimit) }
        guard let provider else { return }
        let inner = context.sideCall(isOneTime: true)
        let exchange = TokenExchange(
            next: next, context: inner, isOneTime: provider.spendsRefreshToken)
        let underWay = Self.underWay.union([ObjectIdentifier(self)])
        // Belongs to no caller and to no client: once it is sent, the old token may be spent, and the
        // answer alone has the new one. It ends by itself, when the provider has the answer or an
        // error. What else ends it settles the refresh: the limit for answers, and a token that
        // somebody puts in its place. A client's `shutdown` waits for it.
        let task = Task.apart { [self] in
            do {
                let token = try await Self.$underWay.withValue(underWay) {
                    try await provider.token(replacing: old, by: exchange)
                }
                finish(refresh, .success(token), at: exchange.date)
            } catch {
                finish(refresh, .failure(error), at: exchange.date)
            }
        }
        let timer = inner.timeSource.schedule(after: limit) { [self] in
            finish(refresh, .failure(TokenRefresh.late(limit)), at: inner.timeSource.date)
        }
        refresh.whenSettled {
            timer.cancel()
            inner.cancel(.handle)
            task.cancel()
        }
    }

    private func finish(
        _ refresh: TokenRefresh, _ result: Result<BearerToken, any Error>, at date: Date
    ) {
        let (outcome, others) = state.withLock { state in
            let outcome = state.finish(refresh, result, at: date)
            guard case .success = outcome else { return (outcome, [TokenRefresh]()) }
            return (outcome, state.takeRefreshes(alsoPresent: false))
        }
        if case .success(let token) = result, case .success = outcome { onRefresh?(token) }
        for other in others { other.settle(.success(())) }
        // One that nobody waits for any more ends all the same.
        refresh.settle(outcome ?? .success(()))
    }
}
