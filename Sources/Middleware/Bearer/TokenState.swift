import Foundation
import TurnpikeCore

/// What ``BearerTokens`` knows, and what a call has to do next; a value without side effects.
struct TokenState: Sendable {
    typealias Credential = BearerTokens.Credential

    /// What a call has to do.
    enum Step: Sendable {
        /// Sign with this; a refresh that is given is to be begun beside it.
        case use(Credential, beginning: TokenRefresh?, replacing: BearerToken?)
        /// Wait for a refresh; a new one is to be begun.
        case wait(TokenRefresh, isNew: Bool, replacing: BearerToken?)
        case fail(ClientError)
    }

    private(set) var policy: RefreshPolicy
    private(set) var provider: (any BearerTokenProvider)?
    private(set) var token: BearerToken?
    private var generation: UInt64 = 0
    // What the provider is told that tokens are to be good for.
    private var wishes: [String]
    // Until when it is used; nil for a token that was over when it came: it would be fetched for each
    // request anew, and a refusal tells more than a clock that may be wrong.
    private var end: Date?
    private var renewal: Date?
    private var wasRefused = false
    private(set) var refresh: TokenRefresh?
    // Those that took too long, whose places others have taken, and whose answers may still come.
    private var superseded: [TokenRefresh] = []
    private var begins: [MonotonicInstant] = []
    private var failures: UInt64 = 0
    private var lastFailure: ClientError?

    init(
        _ token: BearerToken?, _ policy: RefreshPolicy, _ provider: (any BearerTokenProvider)?,
        wishes: [String]
    ) {
        self.policy = policy
        self.provider = provider
        self.wishes = wishes
        install(token, at: nil)
    }

    var canRefresh: Bool { provider != nil }

    /// Puts other rules in force; the token stays, and where the wishes are others the next call
    /// has it replaced.
    mutating func update(
        _ policy: RefreshPolicy, _ provider: (any BearerTokenProvider)?, wishes: [String]
    ) {
        self.policy = policy
        self.provider = provider
        if wishes == self.wishes { return }
        self.wishes = wishes
        wasRefused = true
    }

    /// The credential in force behind a refresh; nil where there was another wish meanwhile, or where
    /// no token has come yet, and another refresh is out.
    func credential(behind refresh: TokenRefresh) throws -> Credential? {
        if refresh.wishes != wishes { return nil }
        if refresh.generation == generation {
            guard let lastFailure, self.refresh == nil else { return nil }
            throw lastFailure
        }
        guard let token, !token.isBlank else { throw missing }
        return Credential(token: token, generation: generation, failures: failures)
    }

    /// What a call that is to be signed has to do.
    mutating func step(_ timeSource: any TimeSource) -> Step {
        guard let token, !token.isBlank else {
            return canRefresh ? join(timeSource) : .fail(missing)
        }
        let present = Credential(token: token, generation: generation, failures: failures)
        guard canRefresh else { return .use(present, beginning: nil, replacing: nil) }
        let date = timeSource.date
        if wasRefused || end.map({ $0 <= date }) ?? false { return join(timeSource) }
        // Once a generation: a renewal that failed is not tried again before it must be.
        if let renewal, renewal <= date, refresh == nil, lastFailure == nil,
            case .wait(let refresh, _, let old) = join(timeSource)
        {
            return .use(present, beginning: refresh, replacing: old)
        }
        return .use(present, beginning: nil, replacing: nil)
    }

    /// What a call whose credential was refused has to do.
    mutating func step(after refused: Credential, _ timeSource: any TimeSource) -> Step {
        if refused.generation != generation, !wasRefused, let token {
            // The refusal was for an older token.
            let present = Credential(token: token, generation: generation, failures: failures)
            return .use(present, beginning: nil, replacing: nil)
        }
        if refresh == nil, failures != refused.failures, let lastFailure {
            // The request was on its way when the refresh failed that would have been its own.
            return .fail(lastFailure)
        }
        return join(timeSource)
    }

    mutating func refuse(_ credential: Credential) {
        if credential.generation == generation { wasRefused = true }
    }

    // The refresh under way, or a new one.
    private mutating func join(_ timeSource: any TimeSource) -> Step {
        let now = timeSource.now
        if let refresh, !isGivenUp(refresh, now) {
            return .wait(refresh, isNew: false, replacing: nil)
        }
        begins.removeAll { $0.advanced(by: policy.window) <= now }
        guard begins.count < policy.maxRefreshes else {
            return .fail(excessive(now))
        }
        begins.append(now)
        let new = TokenRefresh(replacing: generation, wishes: wishes, timeSource: timeSource)
        if let refresh { superseded.append(refresh) }
        refresh = new
        return .wait(new, isNew: true, replacing: token)
    }

    // Whether another refresh may begin while the answer to one is still out.
    private func isGivenUp(_ refresh: TokenRefresh, _ now: MonotonicInstant) -> Bool {
        provider?.spendsRefreshToken == false
            && refresh.begin.advanced(by: policy.timeLimit) <= now
    }

    /// Takes in the end of a refresh: its token, however late it comes, unless another one has come
    /// meanwhile; nil where nobody is to hear of it.
    mutating func finish(
        _ ended: TokenRefresh, _ result: Result<BearerToken, any Error>, at date: Date
    ) -> Result<Void, any Error>? {
        let isUnderWay = refresh === ended
        if isUnderWay { refresh = nil } else { superseded.removeAll { $0 === ended } }
        switch result {
        case .success(let token) where !token.isBlank:
            guard isUnderWay || ended.generation == generation else { return nil }
            install(token, at: date)
            // The provider was told other wishes since: the next call asks for a token by them.
            wasRefused = ended.wishes != wishes
            return .success(())
        case .success:
            return isUnderWay
                ? fail(ClientError(.auth, "the provider gave an empty text for a token")) : nil
        case .failure(let error): return isUnderWay ? fail(error) : nil
        }
    }

    private mutating func fail(_ error: any Error) -> Result<Void, any Error> {
        let failure = Self.failure(error)
        failures += 1
        lastFailure = failure
        return .failure(failure)
    }

    /// What calls hear of a refresh that failed.
    static func failure(_ cause: any Error) -> ClientError {
        ClientError(.auth, "the bearer token could not be refreshed", underlying: cause)
    }

    /// Takes out the refreshes that are still under way, once a token has come by other means.
    mutating func takeRefreshes(alsoPresent: Bool) -> [TokenRefresh] {
        defer { superseded = [] }
        guard alsoPresent, let refresh else { return superseded }
        self.refresh = nil
        return superseded + [refresh]
    }

    /// Puts a token in force; its life is known if it was just given.
    mutating func install(_ token: BearerToken?, at date: Date?) {
        self.token = token
        generation += 1
        wasRefused = false
        lastFailure = nil
        end = token?.expires
        if let date, let expires = end, expires <= date { end = nil }
        renewal = end.map { expires in
            let leeway = policy.leeway.inSeconds
            let life = date.map { max(expires.timeIntervalSince($0), 0) }
            return expires.addingTimeInterval(-min(leeway, life.map { $0 / 2 } ?? leeway))
        }
    }

    private func excessive(_ now: MonotonicInstant) -> ClientError {
        let wait = begins.first.map { now.duration(to: $0.advanced(by: policy.window)) }
        return ClientError(
            .auth,
            "the bearer token was refreshed \(policy.maxRefreshes) times within"
                + " \(policy.window.text) and is refused still; look for a credential that the server"
                + " does not accept",
            retryAfter: wait)
    }

    private var missing: ClientError {
        ClientError(
            .auth,
            token == nil
                ? "there is no bearer token, and nothing that could get one"
                : "the bearer token is an empty text; look where it comes from")
    }
}
