// SPDX-License-Identifier: Apache-2.0

/// Gets tokens for a service itself (RFC 6749 §4.4), with the client's identifier and secret.
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
    ///   - scope: The scope of the tokens; if empty, the server chooses.
    ///   - parameters: More fields of the form, such as `audience`.
    public init(
        _ endpoint: TokenEndpoint, scope: [String] = [], parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "client_credentials", scope, parameters)
    }

    /// False: the identifier and the secret can be used for any number of tokens.
    public var spendsRefreshToken: Bool { false }

    /// Requests a token.
    public func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        let token = try await endpoint.token(form, by: exchange)
        // This grant has no refresh tokens (RFC 6749 §4.4.3).
        return BearerToken(token.value, expires: token.expires)
    }
}
