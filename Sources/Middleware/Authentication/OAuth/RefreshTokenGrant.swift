// SPDX-License-Identifier: Apache-2.0

/// Gets tokens with the refresh token of the previous token (RFC 6749 §6).
///
/// ```swift
/// let signedIn = BearerToken(access, refreshToken: refresh)
/// let tokens = BearerTokens(signedIn, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// ```
///
/// If the server issues a new refresh token, the old one is never sent again; otherwise the old one
/// stays in use. ``BearerTokens`` makes sure that only one refresh runs at a time.
public struct RefreshTokenGrant: BearerTokenProvider {
    private let endpoint: TokenEndpoint
    private let form: OAuthForm

    /// Creates a provider.
    /// - Parameters:
    ///   - endpoint: The token endpoint.
    ///   - scope: The scope of the tokens, at most what was granted; if empty, it stays the same.
    ///   - parameters: More fields of the form.
    public init(
        _ endpoint: TokenEndpoint, scope: [String] = [], parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "refresh_token", scope, parameters)
    }

    /// Requests a token.
    /// - Throws: ``OAuthError/Code/missingRefreshToken`` if the old token has no refresh token.
    public func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        guard let refreshToken = old?.refreshToken else {
            throw OAuthError(.missingRefreshToken)
        }
        let token = try await endpoint.token(
            form.adding("refresh_token", refreshToken), by: exchange)
        return BearerToken(
            token.value, expires: token.expires, refreshToken: token.refreshToken ?? refreshToken)
    }
}
