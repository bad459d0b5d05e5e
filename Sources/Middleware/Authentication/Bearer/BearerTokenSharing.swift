// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Gives several replicas one token, which one of them refreshes for all.
///
/// It works for one ``BearerTokens``, which asks it for one token at a time. `SharedTokens` in
/// `TurnpikeSharedState` keeps the token in a store.
public protocol BearerTokenSharing: Sendable {
    /// The effect that the gate states.
    var effect: GateEffect { get }

    /// Returns a new token: from another replica, or from the provider.
    ///
    /// Returns nil if the present token is to be used.
    func token(for refresh: SharedRefresh) async throws -> BearerToken?

    /// Replaces the token of all replicas with one from outside; nil removes the token.
    /// - Parameters:
    ///   - token: The token.
    ///   - scope: The requested scope.
    func replace(with token: BearerToken?, scope: [String])

    /// Takes a clock and a log for work in the background; each call passes both.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void)
}

/// One refresh of this replica, for a ``BearerTokenSharing``.
public struct SharedRefresh: Sendable {
    /// The token to replace.
    public let old: BearerToken?
    /// Whether the present token may be used if there is no other token.
    public let isLook: Bool
    /// The requested scope.
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
