/// Gets tokens with the refresh token of the one before (RFC 6749 §6).
///
/// ```swift
/// let signedIn = BearerToken(access, refreshToken: refresh)
/// let tokens = BearerTokens(signedIn, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// ```
///
/// Where the server gives a new refresh token, the old one is never sent again; where it gives none,
/// the old one stays. ``BearerTokens`` makes sure that there is one refresh at a time.
public struct RefreshTokenGrant: BearerTokenProvider {
    private let endpoint: TokenEndpoint
    private let form: OAuthForm

    /// Creates a provider.
    /// - Parameters:
    ///   - endpoint: The token endpoint.
    ///   - scope: What the tokens are to be good for, no more than was granted; empty leaves it as
    ///     it was.
    ///   - parameters: More fields of the form.
    public init(
        _ endpoint: TokenEndpoint, scope: [String] = [], parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "refresh_token", scope, parameters)
    }

    /// Asks for a token.
    /// - Throws: ``OAuthError/Code/missingRefreshToken`` where the old token has none.
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
