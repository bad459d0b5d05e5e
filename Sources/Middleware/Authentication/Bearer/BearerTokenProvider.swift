// SPDX-License-Identifier: Apache-2.0

/// Gets bearer tokens, for instance from an authorization server.
///
/// ```swift
/// struct Metadata: BearerTokenProvider {
///     func token(replacing old: BearerToken?, by exchange: TokenExchange) async throws -> BearerToken {
///         let request = Request(.get, "http://169.254.169.254/token")
///         let text = try await exchange.send(request).body.collect(upTo: 4096)
///         return BearerToken(String(decoding: text, as: UTF8.self))
///     }
///
///     var spendsRefreshToken: Bool { false }
/// }
/// ```
///
/// ``BearerTokens`` asks a provider for one token at a time, no matter how many calls wait. The
/// provider may send through any client, even through the client of the gate: a request that is
/// sent within ``token(replacing:by:)`` passes the gate unsigned.
///
/// Two kinds of requests would wait for themselves, until the time limit of the refresh. The first
/// is a request from a detached task, because the gate signs it. The second is a request that needs
/// a permit of a ``ConcurrencyLimit`` outside of the gate, while the calls that wait for the token
/// hold all permits. ``TokenExchange/send(_:)`` avoids the second kind: it passes only the gates
/// inside.
public protocol BearerTokenProvider: Sendable {
    /// Gets a new token.
    /// - Parameters:
    ///   - old: The token that it replaces; nil for the first one.
    ///   - exchange: Sends requests, and has the clock and the cancellation of the refresh.
    /// - Returns: The token.
    /// - Throws: Any error. All calls that wait fail as ``/TurnpikeCore/ClientError/Code/auth``,
    ///   with this error as the cause. It must not print a secret.
    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken

    /// Whether a request for a new token may invalidate the old refresh token, as with rotating
    /// refresh tokens; true by default.
    ///
    /// If true, no second refresh begins before the first one is answered, or before
    /// ``RefreshPolicy/answerLimit`` has passed. The time limits and retries of gates then do not
    /// apply to a request that ``TokenExchange/send(_:)`` sends with a method that is not
    /// idempotent.
    var spendsRefreshToken: Bool { get }
}

extension BearerTokenProvider {
    /// True, because a needless second request could cost the only valid refresh token.
    public var spendsRefreshToken: Bool { true }
}
