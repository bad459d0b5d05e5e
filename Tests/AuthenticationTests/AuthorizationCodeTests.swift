// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("The grant of an authorization code")
struct AuthorizationCodeTests {
    private func server(_ answers: JSONValue...) -> MockTransport {
        MockTransport([
            .on(.get, "/", .status(401), .status(401), .ok(text: "in")),
            MockStub(answers.map { .ok(json: $0) }) { $0.url.path() == "/token" },
        ])
    }

    private func tokens() throws -> BearerTokens {
        let endpoint = TokenEndpoint("http://a.example/token", clientID: "app")
        return BearerTokens(
            provider: AuthorizationCodeGrant(
                endpoint, code: "c0de &", redirectURI: "http://127.0.0.1:8400/",
                verifier: "v3rifier",
                parameters: ["resource": "a"]))
    }

    private func forms(_ transport: MockTransport) -> [String] {
        transport.sent(.post, "/token").compactMap(\.text)
    }

    @Test("The code and the verifier are sent once, and the refresh token from then on")
    func exchange() async throws {
        let transport = server(
            ["access_token": "a1", "refresh_token": "r1"], ["access_token": "a2"])
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [.bearer(try tokens())],
            serializers: SerializerTable())
        #expect(try await client.get("").response().status == 401)
        #expect(try await client.get("").response().status == 200)
        #expect(
            forms(transport) == [
                "grant_type=authorization_code&resource=a&code=c0de%20%26"
                    + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8400%2F&code_verifier=v3rifier"
                    + "&client_id=app",
                "grant_type=refresh_token&resource=a&refresh_token=r1&client_id=app",
            ])
    }

    @Test("A token without a refresh token ends with a new sign-in, and the code is not sent again")
    func noRefreshToken() async throws {
        let transport = server(["access_token": "a1"])
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [.bearer(try tokens())],
            serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            try await client.get("").response()
        }
        #expect((error?.underlying as? OAuthError)?.code == .missingRefreshToken)
        #expect(forms(transport).count == 1)
    }

    @Test("After a failed exchange the code is not sent again")
    func failure() async throws {
        let transport = MockTransport([
            .on(.post, "/token", .status(503), .ok(json: ["access_token": "a1"])),
            .on(.get, "/", .ok(text: "in")),
        ])
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [.bearer(try tokens())],
            serializers: SerializerTable())
        await expectError(.auth) { try await client.get("").response() }
        let error = await #expect(throws: ClientError.self) { try await client.get("").response() }
        #expect((error?.underlying as? OAuthError)?.code == .spentAuthorizationCode)
        #expect(error?.shownCause?.hasSuffix("begin a new authorization") == true)
        #expect(forms(transport).count == 1)
    }

    @Test("After its token was removed the code is not sent again")
    func removal() async throws {
        let transport = MockTransport([
            .on(.get, "/", .ok(text: "in")),
            .on(.post, "/token", .ok(json: ["access_token": "a1", "refresh_token": "r1"])),
        ])
        let tokens = try tokens()
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [.bearer(tokens)],
            serializers: SerializerTable())
        #expect(try await client.get("").response().status == 200)
        tokens.replace(with: nil)
        let error = await #expect(throws: ClientError.self) { try await client.get("").response() }
        #expect((error?.underlying as? OAuthError)?.code == .spentAuthorizationCode)
        #expect(forms(transport).count == 1)
    }

    @Test("Neither the code nor the verifier is shown")
    func secrets() throws {
        let url = try #require(URL(string: "http://a.example/token"))
        let grant = AuthorizationCodeGrant(
            TokenEndpoint(Target(url)), code: "c0de", redirectURI: "http://127.0.0.1/",
            verifier: "v3rifier")
        var text = "\(grant) \(String(reflecting: grant))"
        dump(grant, to: &text)
        #expect(!text.contains("c0de") && !text.contains("v3rifier"))
    }
}
