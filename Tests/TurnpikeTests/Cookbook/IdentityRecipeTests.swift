// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@Suite("Cookbook: identity")
struct IdentityRecipeTests {
    private func endpoint(_ secret: String? = nil) throws -> TokenEndpoint {
        TokenEndpoint(
            "https://id.example.com/token", clientID: "cli",
            clientSecret: secret)
    }

    /// A server of tokens `a1`, `a2`, … and a resource that takes one of them.
    private func server(accepting token: String, refresh: Bool = false) -> MockTransport {
        let count = Mutex(0)
        return MockTransport { request in
            if request.url.path() == "/token" {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                let rotated: JSONValue = refresh ? .string("r\(number)") : nil
                return .ok(json: [
                    "access_token": .string("a\(number)"), "expires_in": 3600,
                    "refresh_token": rotated,
                ])
            }
            return request.headers[.authorization] == "Bearer \(token)"
                ? .ok(text: "in") : .status(401)
        }
    }

    private func forms(_ transport: MockTransport) -> [String] {
        transport.sent(.post, "/token").compactMap(\.text)
    }

    @Test("A key goes to its origin alone, and a missing one is an error at the start")
    func apiKey() async throws {
        let transport = MockTransport([
            .on(.get, "/v1/moved", .status(302, headers: ["Location": "https://b.example/"])),
            .otherwise(.ok()),
        ])
        let client = try makeKeyClient(["ORDERS_API_KEY": "k3y"], transport)
        try await client.get("moved").empty()
        #expect(transport.sent.map { $0.request.headers["X-API-Key"] } == ["k3y", nil])
        for environment in [[:], ["ORDERS_API_KEY": ""]] {
            let error = #expect(throws: ClientError.self) {
                try makeKeyClient(environment, transport)
            }
            #expect(error?.code == .configuration)
        }
    }

    @Test("A service gets a token of its own, once for all calls")
    func clientCredentials() async throws {
        let transport = server(accepting: "a1")
        let client = makeServiceClient(try endpoint("s3cret"), transport)
        async let one = client.get("orders/1").string()
        async let two = client.get("orders/2").string()
        #expect(try await [one, two] == ["in", "in"])
        #expect(forms(transport) == ["grant_type=client_credentials&scope=orders.read"])
    }

    @Test("A refreshed token is there after a restart")
    func refreshToken() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = PrivateFile(path)
        #expect(try savedTokens(in: file, endpoint()).current == nil)
        let first = SavedToken(access: "a0", refresh: "r0")
        try file.write(JSONEncoder().encode(first))
        let transport = server(accepting: "a1", refresh: true)
        let tokens = try savedTokens(in: file, endpoint())
        let client = Client(transport: transport, stack: [.validate(), .bearer(tokens)])
        #expect(try await client.get("https://api.example.com/").string() == "in")
        #expect(forms(transport) == ["grant_type=refresh_token&refresh_token=r0&client_id=cli"])
        let restored = try #require(try savedTokens(in: file, endpoint()).current)
        #expect(restored.value == "a1" && restored.refreshToken == "r1")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("A user signs in with a browser")
    func signInWithProofKey() async throws {
        let signIn = SignIn()
        let page = URLComponents(url: signIn.page, resolvingAgainstBaseURL: false)
        let items = Dictionary(
            uniqueKeysWithValues: (page?.queryItems ?? []).map { ($0.name, $0.value ?? "") })
        #expect(items["redirect_uri"] == signIn.redirectURI && items["state"] == signIn.state)
        #expect(signIn.verifier.count == 43 && items["code_challenge"]?.count == 43)
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(
            SignIn.text(SHA256.digest(of: Data(verifier.utf8)))
                == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        let back = "http://127.0.0.1:8400/done?code=c0de&state="
        let redirect = try #require(URL(string: back + signIn.state))
        let transport = server(accepting: "a1")
        let tokens = try signIn.tokens(from: redirect, endpoint())
        let client = Client(transport: transport, stack: [.validate(), .bearer(tokens)])
        #expect(try await client.get("https://api.example.com/").string() == "in")
        #expect(forms(transport).first?.contains("&code_verifier=\(signIn.verifier)&") == true)
        for wrong in [back + "other", "http://127.0.0.1:8400/done?code=c0de"] {
            let url = try #require(URL(string: wrong))
            let error = #expect(throws: ClientError.self) {
                try signIn.tokens(from: url, endpoint())
            }
            #expect(error?.code == .auth)
        }
    }

    @Test("A session is begun once, and found again in its jar")
    func session() async throws {
        let transport = MockTransport([
            .on(.get, "/me", where: [.header(.cookie, "sid=c1")], .ok(text: "Ada")),
            .on(.get, "/me", .status(401)),
            .on(
                .post, "/login",
                .status(303, headers: ["Location": "/me", "Set-Cookie": "sid=c1; Secure"])),
        ])
        let jar = CookieJar(), login = Login(user: "ada", password: "pa55")
        for count in [3, 5] {
            let client = try await signedIn(login, jar, transport)
            #expect(try await client.get("me").string() == "Ada")
            #expect(transport.sentCount == count + 1)
        }
        #expect(transport.sent(.post, "/login").first?.text == "password=pa55&user=ada")
    }
}
