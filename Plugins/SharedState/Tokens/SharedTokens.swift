// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeMiddleware

/// Where ``/TurnpikeMiddleware/BearerTokens`` of several replicas keep the token that they have in common, so that it is
/// refreshed once for all of them.
///
/// ```swift
/// let shared = try SharedTokens(state, key: "payments", storesSecrets: true)
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint), shared: shared)
/// ```
///
/// The access token and the refresh token are stored as they are, not encrypted: everyone who may
/// read the key in the store can act as this service until the tokens are revoked. So may everyone
/// who reads the store's memory, its files, its backups, and the network on the way to it. Give the
/// key to these replicas alone by access rules of the server, use TLS, and write nothing to disk.
/// Therefore the parameter `storesSecrets` has no default.
///
/// What the store has comes before the token with which a replica starts, because the refresh token
/// in its configuration may be spent. To give all replicas another token, after a sign-in for
/// instance, use ``/TurnpikeMiddleware/BearerTokens/replace(with:)``, or another key.
///
/// ### A refresh
///
/// A replica that needs a new token reads the store first. If another replica has refreshed the
/// token, nothing is sent. Otherwise it takes a lock, reads again, refreshes with the refresh token
/// of the store, stores the new token with the number of the lock, and unlocks. The others wait,
/// asking the store after pauses that grow from 50 ms to one second.
///
/// The first time, the store has two seconds to answer, and not ``SharedState/timeLimit`` alone: its
/// connection may have to be made first. Replicas that start together would otherwise all sign in.
///
/// The lock lasts as long as a refresh may take: ``/TurnpikeMiddleware/RefreshPolicy/answerLimit`` if the provider spends
/// refresh tokens (``/TurnpikeMiddleware/BearerTokenProvider/spendsRefreshToken``), otherwise
/// ``/TurnpikeMiddleware/RefreshPolicy/timeLimit``. A replica that dies while it has the lock holds the others up for that
/// time; meanwhile calls use the old token until it expires. If the server has spent the refresh token
/// for the replica that died, only the grace period of the server helps, or a new sign-in.
public struct SharedTokens: Sendable {
    /// What a replica does if a token must be replaced while the store has no answer.
    public enum Outage: Sendable, Hashable {
        /// It refreshes the token by itself, and stores it when the store is back.
        ///
        /// If the provider spends refresh tokens, this happens only after the store has been away for
        /// a second, and not while another replica may be refreshing. But of several replicas that
        /// refresh with the same refresh token in an outage, the server gives the first one a token,
        /// and takes the others for thieves: many servers then revoke all tokens, those of the first
        /// one too (RFC 9700 §4.14.2).
        case refresh
        /// It waits for the store, at most ``/TurnpikeMiddleware/RefreshPolicy/timeLimit``; then calls that need a new
        /// token fail as ``/TurnpikeCore/ClientError/Code/auth``.
        case wait
    }

    let state: SharedState
    let key: String
    let onOutage: Outage?

    /// Creates a place for tokens.
    /// - Parameters:
    ///   - state: The store, and how long it may take to answer.
    ///   - key: The name of the tokens, the same in all replicas. Replicas with the same key must have
    ///     providers for the same account.
    ///   - storesSecrets: Whether secrets may be stored there; it must be true.
    ///   - onOutage: What a replica does if a token must be replaced while the store has no answer.
    ///     Nil refreshes the token, unless the provider spends refresh tokens; then it waits.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if secrets may not be stored, or if
    ///   the key is empty.
    public init(
        _ state: SharedState, key: String, storesSecrets: Bool, onOutage: Outage? = nil
    ) throws {
        guard storesSecrets else {
            throw ClientError(
                .configuration,
                "tokens are shared only if the store may have secrets; say storesSecrets: true, or"
                    + " leave out the shared store")
        }
        guard !key.isEmpty else {
            throw ClientError(.configuration, "the key of the shared tokens is empty; set one")
        }
        self.state = state
        self.key = key
        self.onOutage = onOutage
    }

    /// Shares the token of one ``/TurnpikeMiddleware/BearerTokens``.
    public func sharing() -> any BearerTokenSharing { TokenSharing(self) }

    /// What happens in an outage with a provider.
    func outage(spends: Bool) -> Outage { onOutage ?? (spends ? .wait : .refresh) }
}

extension BearerTokens {
    /// Creates tokens that several replicas have in common.
    /// - Parameters:
    ///   - token: The first token; if nil, the provider is asked at the first call.
    ///   - provider: Gets new tokens; if nil, a token is never replaced.
    ///   - policy: When and how often tokens are replaced.
    ///   - requestedScope: What the provider asks for, to tell a later change.
    ///   - shared: Where replicas keep the token that they have in common.
    ///   - onRefresh: Runs with each new token, before the calls that wait for it continue.
    public convenience init(
        _ token: BearerToken? = nil, provider: (any BearerTokenProvider)? = nil,
        policy: RefreshPolicy = .standard, requestedScope: [String] = [],
        shared: SharedTokens, onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) {
        self.init(
            token, provider: provider, policy: policy, requestedScope: requestedScope,
            sharing: shared.sharing(), onRefresh: onRefresh)
    }
}
