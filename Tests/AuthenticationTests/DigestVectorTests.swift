// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeSupport

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Digest answers of the RFCs")
struct DigestVectorTests {
    private func response(
        _ challenge: String, _ password: String, _ clientNonce: String, count: UInt32 = 1
    ) throws -> String? {
        let url = try #require(URL(string: "http://www.example.org/dir/index.html"))
        let headers: HTTPHeaders = ["WWW-Authenticate": challenge]
        let offered = AuthenticationChallenge.challenges(in: headers)
        let digest = try #require(offered.first.flatMap { DigestChallenge($0, for: url) })
        var answer = DigestAnswer(
            digest, user: "Mufasa", password: password, clientNonce: clientNonce)
        answer.count = count
        let field = answer.field(
            .get, DigestAnswer.target(of: Request(.get, url)), contentHash: nil)
        let parts = AuthenticationChallenge.challenges(in: ["WWW-Authenticate": field])
        return parts.first?["response"]
    }

    @Test(
        "RFC 7616 §3.9.1",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ])
    func rfc7616(algorithm: String, expected: String) throws {
        let challenge = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
            opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        #expect(
            try response(
                challenge, "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
                == expected)
    }

    @Test("RFC 2617 §3.5, and RFC 2069's form without a protection")
    func older() throws {
        let challenge =
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
        #expect(
            try response(challenge + #", qop="auth,auth-int""#, "Circle Of Life", "0a4f113b")
                == "6629fae49393a05397450978507c4ef1")
        #expect(
            try response(challenge, "Circle Of Life", "")
                == "670fd8c2df070c60b045671b8b24ff02")
    }

    @Test(
        "The target is path and query as they are sent, encoded",
        arguments: [
            ("http://a.example", "/"), ("http://a.example?x=1", "/?x=1"),
            ("http://a.example/a%20b/?q=%C3%A9#f", "/a%20b/?q=%C3%A9"),
            ("http://a.example/a?", "/a?"),
        ])
    func target(url: String, expected: String) throws {
        #expect(DigestAnswer.target(of: Request(.get, try #require(URL(string: url)))) == expected)
    }

    @Test("The target of a request to the server as a whole is an asterisk (RFC 7616 §3.4.6)")
    func asterisk() {
        #expect(DigestAnswer.target(of: Request(.options, "http://a.example")) == "*")
        #expect(DigestAnswer.target(of: Request(.options, "http://a.example/")) == "/")
    }
}
