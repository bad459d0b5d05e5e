// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("OAuth grants")
struct OAuthTests {
    private let clock = ManualClock()

    /// A server with a token endpoint, which answers in order, and a guarded resource.
    private func server(_ answers: MockResponse..., accepting token: String) -> MockTransport {
        let turn = Mutex(0)
        return MockTransport { request in
            if request.url.path() == "/token" {
                return turn.withLock { turn in
                    turn += 1
                    return answers[min(turn, answers.count) - 1]
                }
            }
            return request.headers[.authorization] == "Bearer " + token
                ? .ok(text: "in") : .status(401)
        }
    }

    private func endpoint(
        id: String? = nil, secret: String? = nil,
        authentication: TokenEndpoint.ClientAuthentication = .basic, client: Client? = nil
    ) throws -> TokenEndpoint {
        TokenEndpoint(
            "http://a.example/token", clientID: id, clientSecret: secret,
            authentication: authentication, client: client)
    }

    private func forms(_ transport: MockTransport) -> [String] {
        transport.sent.filter { $0.request.url.path() == "/token" }
            .map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("Client credentials: the form, the identity and the token (RFC 6749 §4.4)")
    func clientCredentials() async throws {
        let transport = server(
            .ok(json: ["access_token": "a1", "token_type": "bearer", "expires_in": 60]),
            accepting: "a1")
        let grant = ClientCredentialsGrant(
            try endpoint(id: "svc:1", secret: "p w/é"), scope: ["orders.read", "x"],
            parameters: ["audience": "a&b"])
        let tokens = BearerTokens(provider: grant)
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(
            forms(transport)
                == ["grant_type=client_credentials&scope=orders.read%20x&audience=a%26b"])
        let sent = try #require(transport.sent.first?.request)
        #expect(sent.method == .post)
        #expect(sent.headers[.contentType] == "application/x-www-form-urlencoded")
        let pair = Data("svc%3A1:p%20w%2F%C3%A9".utf8).base64EncodedString()
        #expect(sent.headers[.authorization] == "Basic " + pair)
        #expect(tokens.current?.expires == clock.date + 60)
    }

    @Test("A client may authenticate in the form, and a public client has no secret")
    func identities() async throws {
        for (secret, expected) in [
            ("s&", "grant_type=client_credentials&client_id=svc&client_secret=s%26"),
            (nil, "grant_type=client_credentials&client_id=svc"),
        ] {
            let transport = server(.ok(json: ["access_token": "a1"]), accepting: "a1")
            let endpoint = try endpoint(id: "svc", secret: secret, authentication: .form)
            let grant = ClientCredentialsGrant(endpoint)
            let client = Client(transport, [.bearer(BearerTokens(provider: grant))])
            #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
            #expect(forms(transport) == [expected])
            #expect(transport.authorizations.first == "-")
        }
    }

    @Test("A refresh token is kept unless the server sends another one")
    func refresh() async throws {
        let transport = server(
            .ok(json: ["access_token": "a1", "refresh_token": "r1"]),
            .ok(json: ["access_token": "a2"]), .ok(json: ["access_token": "a3"]), accepting: "a3")
        let tokens = BearerTokens(
            BearerToken("a0", refreshToken: "r0 &"), provider: RefreshTokenGrant(try endpoint()))
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        for _ in 0..<2 { #expect(try await client.get(anywhere).response().status == 401) }
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(
            forms(transport) == [
                "grant_type=refresh_token&refresh_token=r0%20%26",
                "grant_type=refresh_token&refresh_token=r1",
                "grant_type=refresh_token&refresh_token=r1",
            ])
    }

    @Test("A refresh without a refresh token sends nothing")
    func noRefreshToken() async throws {
        let transport = server(.ok(), accepting: "a1")
        let tokens = BearerTokens(BearerToken("a0"), provider: RefreshTokenGrant(try endpoint()))
        let client = Client(transport, [.bearer(tokens)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect((error?.underlying as? OAuthError)?.code == .missingRefreshToken)
        #expect(forms(transport) == [])
    }

    @Test("Any client can send the requests, also the one that is served")
    func throughClient() async throws {
        let transport = server(.ok(json: ["access_token": "a1"]), accepting: "a1")
        let box = ClientBox()
        struct Late: BearerTokenProvider {
            let box: ClientBox
            func token(
                replacing old: BearerToken?, by exchange: TokenExchange
            ) async throws -> BearerToken {
                let url = try #require(URL(string: "http://a.example/token"))
                let endpoint = TokenEndpoint(Target(url), clientID: "svc", client: box.client)
                return try await ClientCredentialsGrant(endpoint)
                    .token(replacing: old, by: exchange)
            }
        }
        let client = Client(
            transport, [.validate(), .bearer(BearerTokens(provider: Late(box: box)))])
        box.client = client
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.sentCount == 2)
        box.client = nil
    }

    @Test(
        "A redirect of the endpoint within its origin is followed, whatever gates are around",
        arguments: [307, 308] as [HTTPStatus], [nil, true, false] as [Bool?])
    func moved(status: HTTPStatus, clientRedirects: Bool?) async throws {
        let transport = MockTransport { request in
            switch request.url.path() {
            case "/token": .status(status, headers: ["Location": "/moved"])
            case "/moved": .status(status, headers: ["Location": "/there"])
            case "/there": .ok(json: ["access_token": "a1"])
            default: request.headers[.authorization] == "Bearer a1" ? .ok(text: "in") : .status(401)
            }
        }
        let other = clientRedirects.map { Client(transport, $0 ? [.redirect()] : []) }
        let endpoint = try endpoint(
            id: "svc", secret: "s", authentication: .form, client: other)
        let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint))
        let client = Client(transport, [.redirect(), .bearer(tokens), .validate()])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        let sent = transport.sent
        #expect(sent.map { $0.request.url.path() } == ["/token", "/moved", "/there", "/x"])
        let form = "grant_type=client_credentials&client_id=svc&client_secret=s"
        for hop in sent.prefix(3) {
            #expect(hop.request.method == .post)
            #expect(String(decoding: hop.body, as: UTF8.self) == form)
        }
    }

    @Test(
        "A redirect that would drop the form is not followed",
        arguments: [301, 302, 303] as [HTTPStatus], [nil, true, false] as [Bool?])
    func dropped(status: HTTPStatus, clientRedirects: Bool?) async throws {
        let transport = MockTransport { request in
            request.url.path() == "/token"
                ? .status(status, headers: ["Location": "/there"])
                : .ok(json: ["access_token": "a1"])
        }
        let other = clientRedirects.map { Client(transport, $0 ? [.redirect()] : []) }
        let endpoint = try endpoint(id: "svc", secret: "s", client: other)
        let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint))
        let client = Client(transport, [.bearer(tokens), .validate()])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        let cause = error?.underlying as? ClientError
        #expect(cause?.code == .redirect && cause?.response?.status == status)
        #expect(transport.sentCount == 1)
    }

    @Test("Secrets of a form do not follow a redirect to another origin, through any client")
    func redirected() async throws {
        let transport = MockTransport { request in
            switch request.url.path() {
            case "/token": .status(307, headers: ["Location": "/moved"])
            case "/moved": .status(307, headers: ["Location": "http://evil.example/"])
            default: .status(401)
            }
        }
        let endpoint = try endpoint(
            id: "svc", secret: "s", authentication: .form, client: Client(transport, [.redirect()]))
        let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint))
        #expect(await code(of: Client(transport, [.bearer(tokens)]).get(anywhere)) == .auth)
        #expect(transport.sent.map { $0.request.url.path() } == ["/token", "/moved"])
    }

    @Test("Secrets of a form do not follow a redirect gate inside the client's stack either")
    func redirectedInside() async throws {
        let transport = MockTransport { request in
            switch request.url.path() {
            case "/token": .status(307, headers: ["Location": "/moved"])
            case "/moved": .status(307, headers: ["Location": "http://evil.example/"])
            default: .status(401)
            }
        }
        let tokens = BearerTokens(
            BearerToken("t0", refreshToken: "r0"), provider: RefreshTokenGrant(try endpoint()))
        let client = Client(transport, [.bearer(tokens), .redirect()])
        #expect(await code(of: client.get(anywhere)) == .auth)
        #expect(transport.sent.map { $0.request.url.path() } == ["/x", "/token", "/moved"])
    }

    struct Refusal: CustomTestStringConvertible {
        let answer: MockResponse
        let code: OAuthError.Code
        let testDescription: String
    }

    @Test(
        "A response without a token is an error with its code (RFC 6749 §5.2)",
        arguments: [
            Refusal(
                answer: .status(400, json: ["error": "invalid_grant"]), code: .invalidGrant,
                testDescription: "a code"),
            Refusal(
                answer: .status(401, json: ["error": "invalid_client"]), code: .invalidClient,
                testDescription: "an unknown client"),
            Refusal(
                answer: .status(400, json: ["error": "S3CRET-9 /"]), code: .invalidResponse,
                testDescription: "a strange code"),
            Refusal(
                answer: .status(500, body: Data("<html>".utf8)), code: .invalidResponse,
                testDescription: "a status"),
            Refusal(
                answer: .ok(text: "<html>no json"), code: .invalidResponse,
                testDescription: "no JSON"),
            Refusal(answer: .ok(json: [:]), code: .invalidResponse, testDescription: "no token"),
            Refusal(
                answer: .ok(json: ["access_token": "a\r\nX: y"]), code: .invalidResponse,
                testDescription: "a token with a line break"),
            Refusal(
                answer: .ok(json: ["access_token": ""]), code: .invalidResponse,
                testDescription: "an empty token"),
            Refusal(
                answer: .ok(json: ["access_token": "a", "token_type": "mac"]),
                code: .invalidResponse, testDescription: "another type"),
        ], [true, false])
    func refusals(refusal: Refusal, isValidated: Bool) async throws {
        let transport = server(refusal.answer, accepting: "never")
        let tokens = BearerTokens(
            BearerToken("a0", refreshToken: "S3CRET"), provider: RefreshTokenGrant(try endpoint()))
        let gates: [any Gate] = [BearerAuthentication(tokens)] + (isValidated ? [Validate()] : [])
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport, Stack(gates)).get(anywhere).response()
        }
        #expect(error?.code == .auth)
        #expect(error?.response?.status == 401)
        #expect((error?.underlying as? OAuthError)?.code == refusal.code)
        #expect(error.map { !"\($0)".contains("S3CRET") } == true)
    }

    @Test("A huge response is not read")
    func huge() async throws {
        let chunks = Array(repeating: Data(repeating: 0x20, count: 65_536), count: 100)
        let transport = server(.stream(chunks), accepting: "a")
        let grant = RefreshTokenGrant(try endpoint())
        let tokens = BearerTokens(BearerToken("a0", refreshToken: "r"), provider: grant)
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport, clock: clock, [.bearer(tokens)]).get(anywhere).response()
        }
        #expect((error?.underlying as? ClientError)?.code == .tooLarge)
    }

    @Test(
        "A lifetime may be a number or a string; anything else is ignored",
        arguments: [
            (JSONValue(60), 60.0), ("60", 60), (0, 0), (-1, nil), ("soon", nil), (nil, nil),
            (1e300, 315_360_000),
        ] as [(JSONValue, Double?)])
    func life(value: JSONValue, expected: Double?) async throws {
        let transport = server(
            .ok(json: ["access_token": "a1", "expires_in": value]), accepting: "a1")
        let tokens = BearerTokens(provider: ClientCredentialsGrant(try endpoint()))
        _ = try await Client(transport, clock: clock, [.bearer(tokens)]).get(anywhere).response()
        #expect(tokens.current?.expires == expected.map { clock.date + $0 })
    }

    @Test("An error in a response with status 200 is that error")
    func errorUnderOK() async throws {
        let transport = server(
            .ok(json: ["error": "invalid_grant", "error_description": "gone"]), accepting: "a1")
        let grant = ClientCredentialsGrant(try endpoint(id: "svc", secret: "s"))
        let client = Client(transport, clock: clock, [.bearer(BearerTokens(provider: grant))])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        let cause = error?.underlying as? OAuthError
        #expect(cause?.code == .invalidGrant)
        #expect(cause?.detail == "gone")
        #expect(cause?.status == .ok)
    }

    @Test("A token that is already expired is used until it is refused")
    func noLife() async throws {
        let transport = server(
            .ok(json: ["access_token": "a1", "expires_in": 0]), accepting: "a1")
        let tokens = BearerTokens(provider: ClientCredentialsGrant(try endpoint()))
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        for _ in 0..<8 { #expect(try await client.get(anywhere).serialize(with: Text()) == "in") }
        #expect(forms(transport).count == 1)
    }
}
