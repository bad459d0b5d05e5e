// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Has one token for several replicas, so that one of them refreshes it for all.
///
/// It works for one ``BearerTokens``, which asks it for one token at a time. `SharedTokens` in
/// `TurnpikeSharedState` keeps the token in a store.
public protocol BearerTokenSharing: Sendable {
    /// What the gate states of it.
    var effect: GateEffect { get }

    /// Returns a new token: from another replica, or from the provider.
    ///
    /// Nil says that the present one is to be used.
    func token(for refresh: SharedRefresh) async throws -> BearerToken?

    /// Takes a token from outside, which replaces that of all replicas; nil removes theirs.
    /// - Parameters:
    ///   - token: The token.
    ///   - scope: The scope that is asked for.
    func replace(with token: BearerToken?, scope: [String])

    /// Takes a clock and a log for what it does in the background, with each call.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void)
}

/// One refresh of this replica, for a ``BearerTokenSharing``.
public struct SharedRefresh: Sendable {
    /// The token to replace.
    public let old: BearerToken?
    /// Whether the present token may be used if there is no other one.
    public let isLook: Bool
    /// The scope that is asked for.
    public let scope: [String]
    /// When and how often tokens are refreshed.
    public let policy: RefreshPolicy
    /// Whether the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``).
    public let spends: Bool
    /// The clock and the cancellation of the refresh.
    public let context: Context
    /// Reports what happens, without secrets.
    public let note: @Sendable (String) -> Void
    /// Asks the provider for a token that replaces another one.
    public let request: @Sendable (BearerToken?) async throws -> BearerToken
}
