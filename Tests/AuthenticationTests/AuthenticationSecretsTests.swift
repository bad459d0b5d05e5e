// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Secrets of credentials")
struct AuthenticationSecretsTests {
    private static let secret = "S3CRET"

    /// All the ways in which a value may be printed.
    private func printed(_ value: Any) -> String {
        var text = "\(value) \(String(reflecting: value)) \(String(describing: value))"
        dump(value, to: &text)
        return text
    }

    @Test("No gate, token, store or provider prints its secret in any way")
    func printing() throws {
        let secret = Self.secret
        let url = try #require(URL(string: "http://u:\(secret)@a.example/token?api_key=\(secret)"))
        let token = BearerToken(secret, refreshToken: secret)
        let endpoint = TokenEndpoint(Target(url), clientID: "svc", clientSecret: secret)
        let grant = ClientCredentialsGrant(endpoint, parameters: ["assertion": secret])
        let tokens = BearerTokens(token, provider: RefreshTokenGrant(endpoint))
        let values: [Any] = [
            BasicAuthentication(user: "u", password: secret),
            DigestAuthentication(user: "u", password: secret), token, [token], endpoint, grant,
            RefreshTokenGrant(endpoint), tokens, BearerAuthentication(tokens),
            OAuthError(.invalidGrant, detail: secret),
        ]
        for value in values {
            let text = printed(value)
            #expect(!text.contains(secret), "\(type(of: value))")
            #expect(!text.contains(Data(":\(secret)".utf8).base64EncodedString().prefix(8)))
        }
    }

    @Test("Neither log nor error shows a token, a password or a response")
    func logs() async throws {
        let secret = Self.secret
        let url = try #require(URL(string: "http://a.example/token"))
        let transport = MockTransport { request in
            if request.url.path() == "/token" {
                return .status(400, json: ["error_description": .string(secret)])
            }
            return .status(
                401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
        }
        let token = BearerToken(secret, refreshToken: secret)
        let provider = RefreshTokenGrant(TokenEndpoint(Target(url), clientSecret: secret))
        let gates: [any Gate] = [
            BasicAuthentication(user: "u", password: secret),
            BearerAuthentication(BearerTokens(token, provider: provider)),
            DigestAuthentication(user: "u", password: secret),
        ]
        for gate in gates {
            let lines = Lines()
            let client = Client(
                transport,
                Stack([Log(to: lines, level: .debug, peekBytes: 4096), gate, Validate()]))
            let error = await #expect(throws: ClientError.self) {
                try await client.get(anywhere).response()
            }
            let text = lines.text + printed(try #require(error))
            let hidden = [secret, Data("u:\(secret)".utf8).base64EncodedString(), "username="]
            for part in hidden { #expect(!text.contains(part), "\(gate.gateName)") }
            #expect(!lines.text.isEmpty)
        }
    }

    private final class Lines: LogSink {
        private let lines = Mutex<[String]>([])
        var text: String { lines.withLock { $0.joined(separator: "\n") } }
        func write(_ line: String) { lines.withLock { $0.append(line) } }
        func flush() async {}
    }
}
