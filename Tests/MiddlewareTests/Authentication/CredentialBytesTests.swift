// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Credentials are the same where their bytes are, not where they look so.
@Suite("Credentials are compared by bytes")
struct CredentialBytesTests {
    private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")

    @Test("Tokens that only look the same are different")
    func tokens() {
        let token = BearerToken(Self.composed, refreshToken: "r")
        #expect(token != BearerToken(Self.decomposed, refreshToken: "r"))
        #expect(token == BearerToken(Self.composed, refreshToken: "r"))
        #expect(
            BearerToken("a", refreshToken: Self.composed)
                != BearerToken("a", refreshToken: Self.decomposed))
        #expect(Set([token, BearerToken(Self.decomposed, refreshToken: "r")]).count == 2)
    }

    @Test("Nonces that only look the same are different")
    func nonces() async throws {
        let nonces = [Self.composed, Self.decomposed]
        let transport = MockTransport { request in
            let field = request.headers[.authorization]
            let known = field.flatMap { field in
                nonces.firstIndex { Self.holds(field, "nonce=\"\($0)\"") }
            }
            if known == 1 { return .ok() }
            let stale = field == nil ? "" : ", stale=true"
            let nonce = known == 0 ? nonces[1] : nonces[0]
            let challenge = "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"\(stale)"
            return .status(401, headers: ["WWW-Authenticate": challenge])
        }
        let client = Client(transport, [.digest(user: "u", password: "p")])
        #expect(try await client.get(anywhere).response().status == 200)
        #expect(transport.sentCount == 3)
    }

    private static func holds(_ text: String, _ part: String) -> Bool {
        text.unicodeScalars.contains(part.unicodeScalars)
    }
}
