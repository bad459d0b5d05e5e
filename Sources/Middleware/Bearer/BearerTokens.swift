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
/// - A refresh runs in a task of its own, with a time limit of its own. A call that waits for it and
///   is cancelled, or meets its deadline, leaves alone.
/// - It ends with the client whose call began it; calls of others that wait begin another one.
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

    private let provider: (any BearerTokenProvider)?
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
    public init(
        _ token: BearerToken? = nil, provider: (any BearerTokenProvider)? = nil,
        policy: RefreshPolicy = .standard, onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) {
        self.provider = provider
        self.onRefresh = onRefresh
        state = Mutex(TokenState(token, policy, canRefresh: provider != nil))
    }

    /// The token in force, or nil.
    public var current: BearerToken? { state.withLock { $0.token } }

    /// Puts another token in force, after a sign-in for instance; nil lets go of the present one.
    ///
    /// A refresh under way is ended, and what comes of it dropped.
    public func replace(with token: BearerToken?) {
        let refresh = state.withLock { state in
            state.install(token, at: nil)
            return state.takeRefresh()
        }
        refresh?.settle(.success(()))
    }

    /// Puts another policy in force; the token stays.
    func update(_ policy: RefreshPolicy) { state.withLock { $0.policy = policy } }

    /// Whether a refused token can be replaced.
    var canRefresh: Bool { provider != nil }

    /// Whether the present task works for a refresh of this token.
    var isRefreshingHere: Bool { Self.underWay.contains(ObjectIdentifier(self)) }

    /// The credential for a request.
    func credential(in context: Context, next: Next) async throws -> Credential {
        try await take(context, next) { $0.step($1, $2) }
    }

    /// The credential that follows a refused one.
    func credential(
        after refused: Credential, in context: Context, next: Next
    ) async throws -> Credential {
        try await take(context, next) { state, now, _ in state.step(after: refused, now) }
    }

    /// Lets the next call replace a refused token, where the present one cannot send again.
    func refuse(_ credential: Credential) { state.withLock { $0.refuse(credential) } }

    private func take(
        _ context: Context, _ next: Next,
        _ step: (inout TokenState, MonotonicInstant, Date) -> TokenState.Step
    ) async throws -> Credential {
        while true {
            let (now, date) = (context.timeSource.now, context.timeSource.date)
            switch state.withLock({ step(&$0, now, date) }) {
            case .fail(let error): throw error
            case .use(let credential, let refresh, let old):
                if let refresh { begin(refresh, replacing: old, context, next) }
                return credential
            case .wait(let refresh, let isNew, let old):
                if isNew { begin(refresh, replacing: old, context, next) }
                if try await refresh.wait(in: context) {
                    return try state.withLock { try $0.credential() }
                }
                // It went with another client, or with this one.
                try context.checkCancellation()
            }
        }
    }

    private func begin(
        _ refresh: TokenRefresh, replacing old: BearerToken?, _ context: Context, _ next: Next
    ) {
        guard let provider else { return }
        let limit = state.withLock { $0.policy.timeLimit }
        let inner = context.sideCall()
        let exchange = TokenExchange(next: next, context: inner)
        let underWay = Self.underWay.union([ObjectIdentifier(self)])
        // Belongs to no caller. It ends by itself; its time limit, the client's end and a token
        // that is put in its place end it too, all by settling the refresh.
        let task = Task.apart { [self] in
            do {
                let token = try await Self.$underWay.withValue(underWay) {
                    try await provider.token(replacing: old, by: exchange)
                }
                finish(refresh, .success(token), at: exchange.date)
            } catch {
                // What the client's end made fail is no failure of the refresh.
                if inner.cancelReason != nil { return abandon(refresh) }
                finish(refresh, .failure(error), at: exchange.date)
            }
        }
        let timer = inner.timeSource.schedule(after: limit) { [self] in
            let error = ClientError(.auth, "the token's refresh took longer than \(limit.text)")
            finish(refresh, .failure(error), at: inner.timeSource.date)
        }
        let registration = inner.onCancel { [self] _ in abandon(refresh) }
        refresh.whenSettled {
            timer.cancel()
            registration.end()
            inner.cancel(.handle)
            task.cancel()
        }
    }

    private func abandon(_ refresh: TokenRefresh) {
        if state.withLock({ $0.abandon(refresh) }) { refresh.abandon() }
    }

    private func finish(
        _ refresh: TokenRefresh, _ result: Result<BearerToken, any Error>, at date: Date
    ) {
        let outcome = state.withLock { $0.finish(refresh, result, at: date) }
        guard let outcome else { return }
        if case .success(let token) = result, case .success = outcome { onRefresh?(token) }
        refresh.settle(outcome)
    }
}
