// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Gives several replicas one token, which one replica refreshes for all.
///
/// An object works for one ``BearerTokens``, which asks for one token at a time. `SharedTokens` in
/// `TurnpikeSharedState` keeps the token in a store.
public protocol BearerTokenSharing: Sendable {
    /// The effect of shared tokens, which the gate states.
    var effect: GateEffect { get }

    /// Returns a new token from another replica or from the provider, or nil to use the current
    /// token.
    func token(for refresh: SharedRefresh) async throws -> BearerToken?

    /// Replaces the token of all replicas, or removes it if the new token is nil.
    /// - Parameters:
    ///   - token: The new token, from outside of this object.
    ///   - scope: The requested scope.
    func replace(with token: BearerToken?, scope: [String])

    /// Sets the clock and the log for work in the background. Each call that needs a token sets
    /// both.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void)
}

/// One refresh of this replica's token, for a ``BearerTokenSharing``.
public struct SharedRefresh: Sendable {
    /// The token to replace.
    public let old: BearerToken?
    /// Whether the current token may be used if there is no other token.
    public let isLook: Bool
    /// The requested scope.
    public let scope: [String]
    /// When and how often tokens are refreshed.
    public let policy: RefreshPolicy
    /// Whether the provider spends refresh tokens (``BearerTokenProvider/spendsRefreshToken``).
    public let spends: Bool
    /// The clock and the cancellation of the refresh.
    public let context: Context
    /// Reports an event, without secrets.
    public let note: @Sendable (String) -> Void
    /// Asks the provider for a token that replaces the given token.
    public let request: @Sendable (BearerToken?) async throws -> BearerToken
}
