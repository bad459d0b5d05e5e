// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeMiddleware

/// The common place where ``/TurnpikeMiddleware/BearerTokens`` of several replicas store their
/// token, so that it is refreshed once for all of them.
///
/// ```swift
/// let shared = try SharedTokens(state, key: "payments", storesSecrets: true)
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint), shared: shared)
/// ```
///
/// The access token and the refresh token are stored unencrypted. Anyone who can read the key in
/// the store can act as this service until the tokens are revoked. The same holds for anyone who
/// reads the store's memory, files, backups, or the network on the way to it. Restrict the key to
/// these replicas with access rules of the server, use TLS, and write nothing to disk. Because of
/// this, the parameter `storesSecrets` has no default.
///
/// The token in the store has priority over the token with which a replica starts, because the
/// refresh token in its configuration may be spent. To give all replicas another token, as after a
/// sign-in, use ``/TurnpikeMiddleware/BearerTokens/replace(with:)`` or another key.
///
/// ### A refresh
///
/// A replica that needs a new token reads the store first. If another replica has refreshed the
/// token, nothing is sent. Otherwise the replica takes a lock and reads again. The replica
/// refreshes with the refresh token of the store, stores the new token with the number of the lock,
/// and unlocks. The others ask the store again after pauses that grow from 50 ms to one second.
///
/// The first time, the store has two seconds to answer, not only ``SharedState/timeLimit``, because
/// it may have to connect first. Otherwise replicas that start together would all sign in.
///
/// The lock lasts as long as a refresh may take: ``/TurnpikeMiddleware/RefreshPolicy/answerLimit``
/// if the provider spends refresh tokens
/// (``/TurnpikeMiddleware/BearerTokenProvider/spendsRefreshToken``), otherwise
/// ``/TurnpikeMiddleware/RefreshPolicy/timeLimit``. A replica that dies with the lock delays the
/// others for that time. Meanwhile calls use the old token until it expires. If the dead replica
/// has spent the refresh token, only a grace period or a sign-in helps.
public struct SharedTokens: Sendable {
    /// What a replica does if a token must be replaced while the store does not answer.
    public enum Outage: Sendable, Hashable {
        /// The replica refreshes the token by itself, and stores it when the store can be reached.
        ///
        /// If the provider spends refresh tokens, this happens only after the store was unreachable
        /// for a second, and not while another replica may be refreshing. But if several replicas
        /// refresh with the same refresh token during an outage, the server sends a token only to
        /// the first one. It treats the others as thieves: many servers then revoke all tokens,
        /// also those of the first replica (RFC 9700 §4.14.2).
        case refresh
        /// The replica waits for the store, at most
        /// ``/TurnpikeMiddleware/RefreshPolicy/timeLimit``. Then calls that need a new token fail
        /// as ``/TurnpikeCore/ClientError/Code/auth``.
        case wait
    }

    let state: SharedState
    let key: String
    let onOutage: Outage?

    /// Creates a place for tokens.
    /// - Parameters:
    ///   - state: The store, and how long it may take to answer.
    ///   - key: The name of the tokens, equal in all replicas. Replicas with the same key must have
    ///     providers for the same account.
    ///   - storesSecrets: Whether secrets may be stored there. The value must be true.
    ///   - onOutage: What a replica does if a token must be replaced while the store does not
    ///     answer. Nil refreshes the token, or waits if the provider spends refresh tokens.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if secrets may not be stored, or if
    ///   the key is empty.
    public init(
        _ state: SharedState, key: String, storesSecrets: Bool, onOutage: Outage? = nil
    ) throws {
        guard storesSecrets else {
            throw ClientError(
                .configuration,
                "tokens are shared only if the store may contain secrets; set storesSecrets: true,"
                    + " or remove the shared store")
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

    /// What happens during an outage, depending on the provider.
    func outage(spends: Bool) -> Outage { onOutage ?? (spends ? .wait : .refresh) }
}

extension BearerTokens {
    /// Creates tokens that several replicas share.
    /// - Parameters:
    ///   - token: The first token; if nil, the first call asks the provider.
    ///   - provider: Requests new tokens; if nil, a token is never replaced.
    ///   - policy: When and how often tokens are replaced.
    ///   - requestedScope: The scope that the provider requests, to notice a later change.
    ///   - shared: The common place for the token.
    ///   - onRefresh: Runs with each new token, before the waiting calls continue.
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
