// SPDX-License-Identifier: Apache-2.0

public import TurnpikeAuthentication
import TurnpikeCore

/// A place in a store for the common token of several replicas, which one replica refreshes for
/// all.
///
/// ```swift
/// let shared = try SharedTokens(state, key: "payments", storesSecrets: true)
/// let tokens = BearerTokens(saved, provider: RefreshTokenGrant(endpoint), shared: shared)
/// ```
///
/// The access token and the refresh token of the ``/TurnpikeAuthentication/BearerTokens`` are
/// stored unencrypted. A person who can read the key in the store, the store's memory, files or
/// backups, or the network to the store, can act as this service until the tokens are revoked.
/// Restrict the key to these replicas with access rules of the server, use TLS, and let the server
/// write nothing to disk. Because of this risk, the parameter `storesSecrets` has no default.
///
/// A replica prefers the token of the store to the token in the configuration, whose refresh token
/// may already be used. To set another token in all replicas, for example after a sign-in, use
/// ``/TurnpikeAuthentication/BearerTokens/replace(with:)`` or another key.
///
/// ### A refresh
///
/// A replica that needs a new token reads the store first. If another replica has refreshed the
/// token, this replica sends no request. If there is no new token, the replica takes a lock and
/// reads again. The replica refreshes with the refresh token of the store, stores the new token
/// with the fencing number of the lock, and unlocks. The other replicas read the store again after
/// pauses that grow from 50 ms to one second.
///
/// The first operation may take two seconds instead of ``SharedState/timeLimit``, because the store
/// may have to connect. With a shorter time, replicas that start together would all sign in.
///
/// The lock lasts as long as a refresh may take. This time is
/// ``/TurnpikeAuthentication/RefreshPolicy/answerLimit`` if the provider spends refresh tokens
/// (``/TurnpikeAuthentication/BearerTokenProvider/spendsRefreshToken``), and
/// ``/TurnpikeAuthentication/RefreshPolicy/timeLimit`` if not. If a replica with the lock stops,
/// the other replicas wait for this time. During the wait, calls use the old token until the old
/// token expires. If the stopped replica has used the refresh token, a grace period of the server
/// or a sign-in is needed.
public struct SharedTokens: Sendable {
    /// The action of a replica that must replace a token while the store does not answer.
    public enum Outage: Sendable, Hashable {
        /// The replica refreshes the token itself, and stores the new token as soon as possible.
        ///
        /// If each refresh token may be used only once, the replica refreshes only after the store
        /// was unreachable for a second, and not while another replica may be refreshing. If
        /// several replicas refresh with the same refresh token during an outage, the server sends
        /// a token only to the first replica. In this case, many servers revoke all tokens,
        /// including the tokens of the first replica (RFC 9700 §4.14.2).
        case refresh
        /// The replica waits for the store, at most
        /// ``/TurnpikeAuthentication/RefreshPolicy/timeLimit``. After this time, calls that
        /// need a new token fail as ``/TurnpikeCore/ClientError/Code/auth``.
        case wait
    }

    let state: SharedState
    let key: String
    let onOutage: Outage?

    /// Creates a place for the tokens of several replicas.
    /// - Parameters:
    ///   - state: The store, and the longest time for an operation.
    ///   - key: The name of the tokens. All replicas use the same key. Replicas with the same key
    ///     must use the same account.
    ///   - storesSecrets: Whether secrets may be stored in the store. `storesSecrets` must be true.
    ///   - onOutage: The action while the store does not answer. With nil, the replica refreshes
    ///     the token, or waits if a refresh token may be used only once.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if `storesSecrets` is false or
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

    /// Returns the sharing for one ``/TurnpikeAuthentication/BearerTokens``.
    public func sharing() -> any BearerTokenSharing { TokenSharing(self) }

    func outage(spends: Bool) -> Outage { onOutage ?? (spends ? .wait : .refresh) }
}

extension BearerTokens {
    /// Creates tokens that several replicas share.
    /// - Parameters:
    ///   - token: The first token. If nil, the first call gets a token from the provider.
    ///   - provider: Requests new tokens. If nil, a token is never replaced.
    ///   - policy: The rules for the replacement of tokens.
    ///   - requestedScope: The scope that the provider requests. A later change replaces the token.
    ///   - shared: The common place for the token.
    ///   - onRefresh: Receives each new token before the waiting calls continue.
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
