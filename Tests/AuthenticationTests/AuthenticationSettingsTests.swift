// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthenticationStackFiles
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Credentials in stack files")
struct AuthenticationSettingsTests {
    private func registry(_ transport: MockTransport) -> Registry {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerAuthentication()
        registry.register(transport: "test") { _ in transport }
        return registry
    }

    private func file(_ gate: JSONObject) throws -> StackFile {
        try StackFile(.object(["stack": .array([.object(gate)])]))
    }

    private func configured(
        _ gate: JSONObject, _ transport: MockTransport
    ) throws -> ConfiguredClient {
        try ConfiguredClient(
            try file(gate), registry: registry(transport), serializers: SerializerTable(),
            timeSource: ManualClock())
    }

    private static let bearer: JSONObject = [
        "use": "bearer", "token": "t0", "refreshToken": "r0",
        "refreshURL": "http://auth.example/token",
    ]

    private func api() -> MockTransport {
        MockTransport { request in
            if request.url.host() == "auth.example" {
                return .ok(json: ["access_token": "t1", "refresh_token": "r1", "expires_in": 60])
            }
            return request.headers[.authorization] == "Bearer t1" ? .ok(text: "in") : .status(401)
        }
    }

    @Test("bearer refreshes with a form, and a reload keeps its token")
    func bearer() async throws {
        let transport = api()
        let configured = try configured(Self.bearer, transport)
        #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        let refresh = try #require(transport.sent.dropFirst().first)
        #expect(refresh.request.method == .post)
        #expect(
            String(decoding: refresh.body, as: UTF8.self)
                == "grant_type=refresh_token&refresh_token=r0")
        try configured.reload(configured.file)
        #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.sentCount == 4, "the token is not refreshed anew")
    }

    @Test("bearer gets tokens by client credentials, which the URL may contain too")
    func clientCredentials() async throws {
        let gates: [JSONObject] = [
            [
                "use": "bearer", "clientID": "svc", "clientSecret": "s", "scope": ["a", "b"],
                "refreshURL": "http://auth.example/token",
            ],
            [
                "use": "bearer", "token": "t0", "refreshToken": "r0",
                "refreshURL": "http://svc:s@auth.example/token",
            ],
        ]
        let forms = [
            "grant_type=client_credentials&scope=a%20b",
            "grant_type=refresh_token&refresh_token=r0",
        ]
        for (gate, form) in zip(gates, forms) {
            let transport = api()
            let client = try configured(gate, transport).client
            #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
            let refresh = try #require(transport.sent.first { $0.request.method == .post })
            #expect(String(decoding: refresh.body, as: UTF8.self) == form)
            #expect(refresh.request.headers[.authorization] == "Basic c3ZjOnM=")
            #expect(refresh.request.url.absoluteString == "http://auth.example/token")
        }
    }

    @Test("An empty token is a mistake, unless it can be refreshed")
    func emptyToken() async throws {
        let transport = api()
        let error = #expect(throws: ClientError.self) {
            try configured(["use": "bearer", "token": ""], transport)
        }
        #expect(error?.message.contains("stack[0].token: is empty") == true)
        var gate = Self.bearer
        gate["token"] = ""
        let client = try configured(gate, transport).client
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
    }

    @Test("bearer has settings for the number of refreshes and for origins")
    func bounds() async throws {
        var gate = Self.bearer
        gate["maxRefreshes"] = 0
        gate["origins"] = ["http://a.example"]
        let transport = api()
        let client = try configured(gate, transport).client
        #expect(await code(of: client.get(anywhere)) == .auth)
        #expect(try await client.get("http://b.example/").response().status == 401)
        #expect(transport.authorizations == ["Bearer t0", "-"])
    }

    @Test(
        "A credential without a list of origins keeps its first origin, also after a reload",
        arguments: [
            ["use": "basic", "user": "u", "password": "p"],
            ["use": "digest", "user": "u", "password": "p"], ["use": "bearer", "token": "t"],
        ] as [JSONObject])
    func reload(gate: JSONObject) async throws {
        let challenge = #"Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth""#
        let transport = MockTransport { request in
            request.headers.contains(.authorization)
                ? .ok() : .status(401, headers: ["WWW-Authenticate": challenge])
        }
        let configured = try configured(gate, transport)
        #expect(try await configured.client.get(anywhere).response().status == 200)
        try configured.reload(configured.file)
        var other = gate
        if other["password"] != nil { other["password"] = "q" }
        for file in [configured.file, try file(other)] {
            try configured.reload(file)
            let status = try await configured.client.get("http://b.example/").response().status
            #expect(status == 401)
        }
        #expect(
            transport.sent.allSatisfy {
                !$0.request.headers.contains(.authorization)
                    || $0.request.origin?.host == "a.example"
            })
        #expect(try await configured.client.get(anywhere).response().status == 200)
    }

    @Test("digest continues to count its nonce after a reload")
    func nonces() async throws {
        let server = DigestServer()
        let gate: JSONObject = ["use": "digest", "user": "u", "password": "p"]
        let configured = try configured(gate, server.transport)
        for _ in 0..<2 {
            #expect(try await configured.client.get(anywhere).response().status == 200)
            try configured.reload(configured.file)
        }
        #expect(server.counts == [1, 2])
        #expect(server.transport.sentCount == 3)
    }

    @Test("bearer keeps a token that was refreshed under another policy")
    func policy() async throws {
        let transport = api()
        let configured = try configured(Self.bearer, transport)
        #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        var gate = Self.bearer
        gate["leeway"] = 1
        try configured.reload(file(gate))
        #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.sentCount == 4, "the token is not refreshed anew")
    }

    @Test(
        "A reload keeps the current token, whatever else it changes",
        arguments: [
            ["scope": ["b"]], ["clientSecret": "q"], ["token": "other"], ["timeout": 3], [:],
        ] as [JSONObject])
    func rotation(change: JSONObject) async throws {
        let server = RotatingTokenServer()
        var gate = Self.bearer
        gate["clientID"] = "svc"
        gate["clientSecret"] = "p"
        gate["scope"] = ["a"]
        gate["refreshURL"] = "http://a.example/token"
        let configured = try configured(gate, server.transport())
        #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        for field in change where field.name != "timeout" { gate[field.name] = field.value }
        // The gate stands elsewhere, too.
        try configured.reload(
            StackFile(["stack": [["use": "deadline"], .object(gate)]]))
        for _ in 0..<2 {
            #expect(try await configured.client.get(anywhere).serialize(with: Text()) == "in")
        }
        #expect(!server.isSignedOut)
        // Another scope is asked for at once, with the refresh token that is good now.
        let isAsked = change["scope"] != nil
        #expect(server.forms.count == (isAsked ? 2 : 1))
        if isAsked {
            #expect(
                server.forms.last == "grant_type=refresh_token&scope=b&refresh_token=r1")
        }
    }

    @Test("A refresh that is under way during a reload is kept; another scope is requested later")
    func reloadDuringRefresh() async throws {
        let clock = ManualClock()
        let server = RotatingTokenServer(answeringAfter: .seconds(1))
        var gate = Self.bearer
        gate["refreshURL"] = "http://a.example/token"
        let configured = try ConfiguredClient(
            try file(gate), registry: registry(server.transport()),
            serializers: SerializerTable(), timeSource: clock)
        let early = configured.client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(1))
        gate["scope"] = ["b"]
        try configured.reload(file(gate))
        let late = configured.client.get(anywhere).start(Text())
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(1))
            clock.advance(by: .seconds(1))
        }
        #expect(try await early.value == "in")
        #expect(try await late.value == "in")
        #expect(
            server.forms == [
                "grant_type=refresh_token&refresh_token=r0",
                "grant_type=refresh_token&scope=b&refresh_token=r1",
            ])
    }

    @Test("Two gates with one refresh token share the new token")
    func twoGates() async throws {
        let server = RotatingTokenServer()
        var gates = [Self.bearer, Self.bearer]
        for (index, host) in ["a", "b"].enumerated() {
            gates[index]["refreshURL"] = "http://a.example/token"
            gates[index]["origins"] = [.string("http://\(host).example")]
        }
        let file = try StackFile(["stack": .array(gates.map { .object($0) })])
        let client = try ConfiguredClient(
            file, registry: registry(server.transport()), serializers: SerializerTable()
        ).client
        for target: Target in [anywhere, "http://b.example/x"] {
            #expect(try await client.get(target).serialize(with: Text()) == "in")
        }
        #expect(server.forms.count == 1)
    }

    @Test("basic and digest have a user and a password")
    func others() async throws {
        let server = DigestServer()
        let digest: JSONObject = ["use": "digest", "user": "u", "password": "p"]
        let client = try configured(digest, server.transport).client
        #expect(try await client.get(anywhere).response().status == 200)
        let transport = MockTransport { _ in .ok() }
        let basic: JSONObject = ["use": "basic", "user": "u", "password": "p"]
        _ = try await configured(basic, transport).client.get(anywhere).response()
        #expect(transport.authorizations == ["Basic dTpw"])
    }

    @Test(
        "A mistake has its path, and does not show the secret",
        arguments: [
            (["use": "basic", "user": "a:S3CRET", "password": "p"], "stack[0].user"),
            (["use": "basic", "user": "u", "password": "S3CRET\n"], "stack[0].password"),
            (["use": "bearer"], "stack[0].token"),
            (["use": "bearer", "token": "t", "refreshToken": "S3CRET"], "stack[0].refreshURL"),
            (
                ["use": "bearer", "token": "t", "refreshURL": "http://a.example"],
                "stack[0].refreshToken"
            ),
            (
                ["use": "bearer", "token": "t", "refreshToken": "S3CRET", "refreshURL": "/token"],
                "stack[0].refreshURL"
            ),
            (["use": "bearer", "token": "t", "clientID": "S3CRET"], "stack[0].refreshURL"),
            (["use": "bearer", "token": "t", "origins": ["a.example"]], "stack[0].origins[0]"),
            (["use": "bearer", "token": "t", "origins": []], "stack[0].origins"),
            (["use": "bearer", "tokn": "S3CRET", "token": "t"], "stack[0].tokn"),
        ] as [(JSONObject, String)])
    func mistakes(gate: JSONObject, path: String) throws {
        let issues = try file(gate).check(with: registry(MockTransport([])))
        #expect(issues.map(\.path) == [path])
        #expect(!issues.map(\.description).joined().contains("S3CRET"))
    }
}
