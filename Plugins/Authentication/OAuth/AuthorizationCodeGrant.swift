// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Gets the first token with an authorization code, and later tokens with the refresh token.
///
/// The request contains the code (RFC 6749 §4.1.3) and the code verifier (PKCE, RFC 7636 §4.5).
///
/// ```swift
/// let grant = AuthorizationCodeGrant(
///     endpoint, code: code, redirectURI: "http://127.0.0.1:8400/", verifier: verifier)
/// let tokens = BearerTokens(provider: grant) { save($0) }
/// ```
///
/// A code works once (RFC 6749 §4.1.2). The provider sends the code once, even if the exchange
/// fails. The user must sign in again if the exchange fails, if the response contains no refresh
/// token, or if the token is removed (``BearerTokens/replace(with:)``).
public struct AuthorizationCodeGrant: BearerTokenProvider {
    private let endpoint: TokenEndpoint
    private let form: OAuthForm
    private let refresh: RefreshTokenGrant
    private let code = CodeUse()

    /// Creates a provider.
    /// - Parameters:
    ///   - endpoint: The token endpoint, without a client secret in a program that users install.
    ///   - code: The code from the redirect. Compare the `state` of the redirect first.
    ///   - redirectURI: The redirect URI, exactly as in the authorization request.
    ///   - verifier: The verifier whose challenge was in the authorization request.
    ///   - parameters: Additional fields of the token request, and of each refresh request.
    public init(
        _ endpoint: TokenEndpoint, code: String, redirectURI: String, verifier: String,
        parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "authorization_code", [], parameters)
            .adding("code", code).adding("redirect_uri", redirectURI)
            .adding("code_verifier", verifier)
        refresh = RefreshTokenGrant(endpoint, parameters: parameters)
    }

    /// Requests a token.
    /// - Throws: ``OAuthError/Code/missingRefreshToken`` if the old token has no refresh token.
    ///   ``OAuthError/Code/spentAuthorizationCode`` if the code was already sent.
    public func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        if let old { return try await refresh.token(replacing: old, by: exchange) }
        guard code.begin() else { throw OAuthError(.spentAuthorizationCode) }
        return try await endpoint.token(form, by: exchange)
    }
}

/// Whether the authorization code was sent.
///
/// All copies of a grant share this object.
private final class CodeUse: Sendable {
    private let isSpent = Atomic(false)

    /// Marks the code as sent, and returns false if the code was already marked.
    func begin() -> Bool { !isSpent.exchange(true, ordering: .relaxed) }
}

/// Gets tokens with the client's own identifier and secret, without a user (RFC 6749 §4.4).
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
    ///   - scope: The scope of the tokens. If the scope is empty, the server chooses.
    ///   - parameters: Additional fields of the form, such as `audience`.
    public init(
        _ endpoint: TokenEndpoint, scope: [String] = [], parameters: [String: String] = [:]
    ) {
        self.endpoint = endpoint
        form = OAuthForm(grant: "client_credentials", scope, parameters)
    }

    /// Returns false, because the identifier and the secret work for any number of tokens.
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

/// Gets tokens with the refresh token of the previous token (RFC 6749 §6).
///
/// ```swift
/// let signedIn = BearerToken(access, refreshToken: refresh)
/// let tokens = BearerTokens(signedIn, provider: RefreshTokenGrant(endpoint)) { save($0) }
/// ```
///
/// If the server issues a new refresh token, the provider never sends the old one again. If the
/// server sends no new refresh token, the provider continues to use the old refresh token.
/// ``BearerTokens`` makes sure that only one refresh runs at a time.
public struct RefreshTokenGrant: BearerTokenProvider {
    private let endpoint: TokenEndpoint
    private let form: OAuthForm

    /// Creates a provider.
    /// - Parameters:
    ///   - endpoint: The token endpoint.
    ///   - scope: The scope of the tokens, at most the granted scope. If the scope is empty, the
    ///     scope does not change.
    ///   - parameters: Additional fields of the form.
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
