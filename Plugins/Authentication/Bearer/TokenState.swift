// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The state of ``BearerTokens``, which decides the next step of a call.
///
/// This type has no side effects.
struct TokenState: Sendable {
    typealias Credential = BearerTokens.Credential

    enum Step: Sendable {
        /// Signs the request with this credential. The call also starts the refresh `beginning`.
        case use(Credential, beginning: TokenRefresh?, replacing: BearerToken?)
        /// Waits for a refresh. If the refresh is new, the call also starts the refresh.
        case wait(TokenRefresh, isNew: Bool, replacing: BearerToken?)
        case fail(ClientError)
    }

    private(set) var policy: RefreshPolicy
    private(set) var provider: (any BearerTokenProvider)?
    private(set) var token: BearerToken?
    private var generation: UInt64 = 0
    // The scope that the provider must request.
    private(set) var requestedScope: [String]
    // The date after which the token must not be used. If a token had already expired on arrival,
    // the date is nil, because the local clock may be wrong. A token of this kind is used until the
    // server refuses the token. With the date, each request would fetch a token again.
    private var end: Date?
    private var renewal: Date?
    private var wasRefused = false
    // Whether replicas share the token and this replica has not yet read the shared token.
    private var mustLook: Bool
    private(set) var refresh: TokenRefresh?
    // Refreshes that took too long and were replaced by other refreshes. The responses to the
    // replaced refreshes may still arrive.
    private var superseded: [TokenRefresh] = []
    // The refused tokens, each once. A refresh has begun for each refused token.
    private var refusals: [(generation: UInt64, at: MonotonicInstant)] = []
    private var failures: UInt64 = 0
    private var pauses = RefreshPauses()
    private var lastFailure: ClientError?

    init(
        _ token: BearerToken?, _ policy: RefreshPolicy, _ provider: (any BearerTokenProvider)?,
        requestedScope: [String], isShared: Bool = false
    ) {
        self.policy = policy
        self.provider = provider
        self.requestedScope = requestedScope
        mustLook = isShared
        install(token, at: nil)
    }

    var canRefresh: Bool { provider != nil }

    // Replaces the policy and the provider. If the requested scope has changed, the next call
    // replaces the token.
    mutating func update(
        _ policy: RefreshPolicy, _ provider: (any BearerTokenProvider)?, requestedScope: [String]
    ) {
        self.policy = policy
        self.provider = provider
        if requestedScope == self.requestedScope { return }
        self.requestedScope = requestedScope
        wasRefused = true
    }

    // Returns the current credential after a refresh. The result is nil if the requested scope has
    // changed during the refresh, or if another refresh runs and no token has arrived.
    func credential(behind refresh: TokenRefresh) throws -> Credential? {
        if refresh.requestedScope != requestedScope { return nil }
        if refresh.generation == generation {
            guard let lastFailure, self.refresh == nil else { return nil }
            throw lastFailure
        }
        guard let token, !token.isBlank else { throw missing }
        return Credential(token: token, generation: generation, failures: failures)
    }

    /// Decides the action of a call before its request is signed.
    mutating func step(_ timeSource: any TimeSource) -> Step {
        guard let token, !token.isBlank else {
            return canRefresh ? join(timeSource) : .fail(missing)
        }
        let present = Credential(token: token, generation: generation, failures: failures)
        guard canRefresh else { return .use(present, beginning: nil, replacing: nil) }
        let date = timeSource.date
        if wasRefused { return join(timeSource, isRefusal: true) }
        if let end, end <= date { return join(timeSource) }
        if mustLook { return join(timeSource, isLook: true) }
        // Each token is renewed once before expiry. If the renewal fails, the next refresh begins
        // after the token has expired.
        if let renewal, renewal <= date, refresh == nil, lastFailure == nil,
            case .wait(let refresh, _, let old) = join(timeSource)
        {
            return .use(present, beginning: refresh, replacing: old)
        }
        return .use(present, beginning: nil, replacing: nil)
    }

    /// Decides the action of a call after the server refused its credential.
    mutating func step(after refused: Credential, _ timeSource: any TimeSource) -> Step {
        if refused.generation != generation, !wasRefused, let token {
            // The server refused an older token.
            let present = Credential(token: token, generation: generation, failures: failures)
            return .use(present, beginning: nil, replacing: nil)
        }
        if refresh == nil, failures != refused.failures, let lastFailure {
            // The refresh for this credential has already failed in another call.
            return .fail(lastFailure)
        }
        return join(timeSource, isRefusal: true)
    }

    mutating func refuse(_ credential: Credential) {
        if credential.generation == generation { wasRefused = true }
    }

    // Returns the running refresh, or a new refresh.
    private mutating func join(
        _ timeSource: any TimeSource, isLook: Bool = false, isRefusal: Bool = false
    ) -> Step {
        let now = timeSource.now
        if let refresh, !isGivenUp(refresh, now) {
            return .wait(refresh, isNew: false, replacing: nil)
        }
        // A caller may have removed the provider after the call's last look at the provider.
        guard let provider else { return .fail(missing) }
        refusals.removeAll { $0.at.advanced(by: policy.window) <= now }
        if isRefusal, !refusals.contains(where: { $0.generation == generation }) {
            guard refusals.count < policy.maxRefreshes else { return .fail(excessive(now)) }
            refusals.append((generation, now))
        }
        if !isLook, let lastFailure, let left = pauses.timeLeft(at: now) {
            return .fail(Self.paused(lastFailure, for: left))
        }
        let new = TokenRefresh(
            replacing: generation, by: provider, requestedScope: requestedScope, isLook: isLook,
            timeSource: timeSource)
        if let refresh { superseded.append(refresh) }
        refresh = new
        return .wait(new, isNew: true, replacing: token)
    }

    // Whether a second refresh may begin although the given refresh has no response yet.
    private func isGivenUp(_ refresh: TokenRefresh, _ now: MonotonicInstant) -> Bool {
        provider?.spendsRefreshToken == false
            && refresh.begin.advanced(by: policy.timeLimit) <= now
    }

    // Records the end of a refresh. A late token is installed too, unless another token was
    // installed earlier. If the refresh has no token, the current token stays. The result is nil if
    // the state does not change.
    mutating func finish(
        _ ended: TokenRefresh, _ result: Result<BearerToken?, any Error>, at date: Date,
        _ now: MonotonicInstant, unit: Double
    ) -> Result<Void, any Error>? {
        let isUnderWay = refresh === ended
        if isUnderWay { refresh = nil } else { superseded.removeAll { $0 === ended } }
        mustLook = false
        switch result {
        case .success(nil): return nil
        case .success(let token?) where !token.isBlank:
            guard isUnderWay || ended.generation == generation else { return nil }
            install(token, at: date)
            // If the requested scope has changed since the begin, the next call starts a refresh.
            wasRefused = ended.requestedScope != requestedScope
            return .success(())
        case .success:
            return isUnderWay
                ? fail(
                    ClientError(.auth, "the provider returned an empty token"), at: date, now, unit)
                : nil
        case .failure(let error): return isUnderWay ? fail(error, at: date, now, unit) : nil
        }
    }

    private mutating func fail(
        _ error: any Error, at date: Date, _ now: MonotonicInstant, _ unit: Double
    ) -> Result<Void, any Error> {
        let failure = Self.failure(error)
        pauses.failed(error, at: date, now, unit: unit)
        failures += 1
        lastFailure = failure
        return .failure(failure)
    }

    static func failure(_ cause: any Error) -> ClientError {
        ClientError(.auth, "the bearer token could not be refreshed", underlying: cause)
    }

    // The error of calls during the pause after a failure.
    private static func paused(_ last: ClientError, for left: Duration) -> ClientError {
        ClientError(
            .auth,
            "the bearer token could not be refreshed; the next refresh may begin in"
                + " \(left.text)", underlying: last.underlying, retryAfter: left)
    }

    /// Removes the running refreshes, because another token was installed.
    mutating func takeRefreshes(alsoPresent: Bool) -> [TokenRefresh] {
        defer { superseded = [] }
        guard alsoPresent, let refresh else { return superseded }
        self.refresh = nil
        return superseded + [refresh]
    }

    /// Installs a token from outside, which replaces the token of all replicas.
    mutating func replace(with token: BearerToken?) {
        mustLook = false
        install(token, at: nil)
    }

    // Installs a token. For a newly issued token, `date` is needed to compute the end of the token.
    mutating func install(_ token: BearerToken?, at date: Date?) {
        self.token = token
        generation += 1
        wasRefused = false
        lastFailure = nil
        pauses = RefreshPauses()
        end = token?.expires
        if let date, let expires = end, expires <= date { end = nil }
        renewal = end.map { expires in
            let leeway = policy.leeway.inSeconds
            let life = date.map { max(expires.timeIntervalSince($0), 0) }
            return expires.addingTimeInterval(-min(leeway, life.map { $0 / 2 } ?? leeway))
        }
    }

    private func excessive(_ now: MonotonicInstant) -> ClientError {
        let wait = refusals.first.map { now.duration(to: $0.at.advanced(by: policy.window)) }
        return ClientError(
            .auth,
            "the bearer token was refreshed \(policy.maxRefreshes) times within"
                + " \(policy.window.text) and is still refused; check whether the server accepts"
                + " this credential"
                + (wait.map { "; the next refresh may begin in \($0.text)" } ?? ""),
            retryAfter: wait)
    }

    private var missing: ClientError {
        ClientError(
            .auth,
            token == nil
                ? "there is no bearer token, and no provider that could get one"
                : "the bearer token is empty; check the source of the token")
    }
}
