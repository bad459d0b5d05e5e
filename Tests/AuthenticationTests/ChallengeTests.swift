// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeAuthentication

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Authentication challenges")
struct ChallengeTests {
    private func challenges(_ lines: String...) -> [String] {
        let headers = HTTPHeaders(lines.map { ("WWW-Authenticate", $0) })
        return AuthenticationChallenge.challenges(in: headers).map { challenge in
            let parameters = challenge.parameters.map { "\($0.name)=<\($0.value)>" }
            return ([challenge.scheme] + [challenge.token68].compactMap(\.self) + parameters)
                .joined(separator: " ")
        }
    }

    @Test(
        "Each form of a challenge in RFC 9110 §11.6.1 is parsed",
        arguments: [
            ("Basic realm=\"a\"", ["basic realm=<a>"]),
            ("bAsIc rEaLm=h", ["basic realm=<h>"]),
            ("Negotiate", ["negotiate"]),
            ("Negotiate YWJj", ["negotiate YWJj"]),
            ("Negotiate a+/-._~==", ["negotiate a+/-._~=="]),
            ("Negotiate, Basic realm=x", ["negotiate", "basic realm=<x>"]),
            ("Negotiate YWJj=, Basic realm=x", ["negotiate YWJj=", "basic realm=<x>"]),
            (
                "Basic realm=a, Digest realm=b , nonce=\"n\"",
                [
                    "basic realm=<a>", "digest realm=<b> nonce=<n>",
                ]
            ),
            (
                "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
                [
                    "newauth realm=<apps> type=<1> title=<Login to \"apps\">",
                    "basic realm=<simple>",
                ]
            ),
            ("Digest realm = \"a, b=c\" ,nonce\t=n", ["digest realm=<a, b=c> nonce=<n>"]),
            (",, ,Basic realm=x,,, ,", ["basic realm=<x>"]),
            ("Basic ,, , realm=x", ["basic realm=<x>"]),
            ("Basic realm=\"\"", ["basic realm=<>"]),
            ("Basic realm=\"café\"", ["basic realm=<café>"]),
            ("", []),
        ])
    func forms(line: String, expected: [String]) { #expect(challenges(line) == expected) }

    @Test(
        "Challenges before a mistake count; the mistake and what follows do not",
        arguments: [
            ("Digest realm=\"abc", [String]()),
            ("Basic realm=a, Digest realm=\"abc", ["basic realm=<a>"]),
            ("Basic realm=a, realm=b, Digest realm=c", []),
            ("Basic realm=a nonce=b", []),
            ("Basic Digest realm=a", []),
            ("Basic\trealm=a", []),
            ("Basic=a", []),
            ("Basic realm=", ["basic realm="]),
            ("Basic realm=, x=y", ["basic realm="]),
            ("Basic realm=a, \"x\"", []),
            ("Basic realm=a, x=\"\\", []),
            ("Basic realm=a, (x)=y", []),
            ("=", []), ("\"", []), ("@", []),
        ])
    func faults(line: String, expected: [String]) { #expect(challenges(line) == expected) }

    @Test("Several field lines give one list, and a bad line spoils no other")
    func lines() {
        #expect(
            challenges("Basic realm=a", "Digest realm=\"", "Bearer", "X y=z")
                == ["basic realm=<a>", "bearer", "x y=<z>"])
    }

    @Test("Size and number are bounded")
    func bounds() {
        #expect(challenges("Basic realm=\"" + String(repeating: "r", count: 500_000) + "\"") == [])
        let many = Array(repeating: "Basic realm=x", count: 1000)
        #expect(challenges(many.joined(separator: ", ")).count == 32)
        let lines = HTTPHeaders(many.map { ("WWW-Authenticate", $0) })
        #expect(AuthenticationChallenge.challenges(in: lines).count == 32)
        // A line of several begins below the bound and must not lead beyond it.
        let five = "A, B, C, D, E"
        #expect(challenges(five, five, five, five, five, five, five).count == 32)
        let parameters = (0..<33).map { "p\($0)=v" }
        #expect(challenges("X " + parameters.joined(separator: ",")) == [])
        #expect(challenges("X " + parameters.dropLast().joined(separator: ",")).count == 1)
    }

    @Test("Parsing any bytes ends, with challenges or without")
    func noise() {
        var generator = SeededGenerator(seed: 0x5EED)
        let alphabet = Array("Basic Digest realm=\"x\\,, \t~/=é\u{7F}".unicodeScalars)
        for _ in 0..<10_000 {
            var line = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...40, using: &generator) {
                line.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            #expect(challenges(String(line)).count <= 32)
        }
    }
}
