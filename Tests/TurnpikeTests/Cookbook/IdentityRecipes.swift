// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeAuthentication
import TurnpikeSupport

// The code of the page "Cookbook: identity"; a test compares them.

func makeKeyClient(_ environment: [String: String], _ transport: any Transport) throws -> Client {
    guard let key = environment["ORDERS_API_KEY"], !key.isEmpty else {
        throw ClientError(
            .configuration, "found no ORDERS_API_KEY; expected the key in the environment")
    }
    return Client(
        baseURL: "https://api.example.com/v1/", transport: transport,
        stack: [
            .deadline(), .validate(), .redirect(), .setHeaders(["X-API-Key": key], origins: .own),
            .retry(), .attemptTimeout(), .idleTimeout(), .limits(),
        ])
}

func makeServiceClient(_ endpoint: TokenEndpoint, _ transport: any Transport) -> Client {
    let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint, scope: ["orders.read"]))
    return Client(
        baseURL: "https://api.example.com/v1/", transport: transport,
        stack: [
            .deadline(), .validate(), .redirect(), .retry(), .bearer(tokens), .attemptTimeout(),
            .idleTimeout(), .limits(),
        ])
}

struct SavedToken: Codable {
    var access: String
    var expires: Date?
    var refresh: String?
}

func savedTokens(in file: PrivateFile, _ endpoint: TokenEndpoint) throws -> BearerTokens {
    let saved = try file.read(maxBytes: 65_536).map {
        try JSONDecoder().decode(SavedToken.self, from: $0)
    }
    let token = saved.map {
        BearerToken($0.access, expires: $0.expires, refreshToken: $0.refresh)
    }
    return BearerTokens(token, provider: RefreshTokenGrant(endpoint)) { new in
        let saved = SavedToken(
            access: new.value, expires: new.expires, refresh: new.refreshToken)
        do {
            try file.write(JSONEncoder().encode(saved))
        } catch {
            print("the new token could not be saved, so the next start needs a sign-in: \(error)")
        }
    }
}

struct SignIn: Sendable {
    let state = Self.random()
    let verifier = Self.random()
    let redirectURI = "http://127.0.0.1:8400/done"

    /// The page to open in the user's browser.
    var page: URL {
        let challenge = Self.text(SHA256.digest(of: Data(verifier.utf8)))
        let target = Target("https://id.example.com/authorize").appending([
            "response_type": "code", "client_id": "cli", "redirect_uri": .init(redirectURI),
            "state": .init(state), "code_challenge": .init(challenge),
            "code_challenge_method": "S256",
        ])
        return Request(.get, target).url
    }

    static func random() -> String { text(Data((0..<32).map { _ in UInt8.random(in: 0...255) })) }

    /// Base64 for URLs, without padding (RFC 4648 §5).
    static func text(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}

extension SignIn {
    /// Makes tokens of what the browser was redirected to.
    func tokens(from redirect: URL, _ endpoint: TokenEndpoint) throws -> BearerTokens {
        let items = URLComponents(url: redirect, resolvingAgainstBaseURL: false)?.queryItems ?? []
        func item(_ name: String) -> String? { items.first { $0.name == name }?.value }
        guard item("state") == state, let code = item("code") else {
            throw ClientError(
                .auth, "found a redirect of another sign-in, or \(item("error") ?? "no code")")
        }
        let grant = AuthorizationCodeGrant(
            endpoint, code: code, redirectURI: redirectURI, verifier: verifier)
        return BearerTokens(provider: grant)
    }
}

struct Login: Encodable, Sendable {
    var user: String
    var password: String
}

func signedIn(_ login: Login, _ jar: CookieJar, _ transport: any Transport) async throws -> Client {
    let client = Client(
        baseURL: "https://shop.example.com/", transport: transport,
        stack: [
            .deadline(), .validate(), .redirect(), .cookies(jar), .retry(), .attemptTimeout(),
            .idleTimeout(), .limits(),
        ])
    if try await client.get("me").validate(status: [200, 401]).response().status == 401 {
        try await client.post("login", form: login).empty()
    }
    return client
}
