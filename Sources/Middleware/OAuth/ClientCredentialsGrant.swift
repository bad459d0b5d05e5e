/// Gets tokens for a service's own sake (RFC 6749 §4.4): its identifier and secret are all it takes.
///
/// ```swift
/// let endpoint = TokenEndpoint(url, clientID: "svc", clientSecret: secret)
/// let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint, scope: ["orders.read"]))
/// ```
public struct ClientCredentialsGrant: BearerTokenProvider {
    private let endpoint: TokenEndpoint
    private let form: OAuthForm

    /// Creates a provider.
    /// - Parameters:
    ///   - endpoint: The token endpoint, with the client's identifier and secret.
    ///   - scope: What the tokens are to be good for; empty leaves it to the server.
    ///   - parameters: More fields of the form, such as `audience`.
    public init(
        _ endpoint: TokenEndpoint, scope: [String] = [], parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "client_credentials", scope, parameters)
    }

    /// False: the identifier and the secret are good for any number of tokens.
    public var spendsRefreshToken: Bool { false }

    /// Asks for a token.
    public func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        let token = try await endpoint.token(form, by: exchange)
        // A refresh token has no place in this grant (RFC 6749 §4.4.3).
        return BearerToken(token.value, expires: token.expires)
    }
}
