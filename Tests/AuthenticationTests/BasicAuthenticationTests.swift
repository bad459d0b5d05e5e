// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("BasicAuthentication")
struct BasicAuthenticationTests {
    private func sent(
        _ gate: BasicAuthentication, _ change: (Call) -> Call = { $0 }
    ) async throws -> String? {
        let transport = MockTransport { _ in .ok() }
        _ = try await change(Client(transport, [gate]).get(anywhere)).response()
        return transport.sent.first?.request.headers[.authorization]
    }

    @Test(
        "User and password are sent without a challenge, in UTF-8 (RFC 7617 §2)",
        arguments: [
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("test", "123£", "dGVzdDoxMjPCow=="),
            ("u", "a:b", "dTphOmI="), ("", "", "Og=="),
            ("e\u{301}", "p", "w6k6cA=="),
        ])
    func field(user: String, password: String, expected: String) async throws {
        #expect(try await sent(.basic(user: user, password: password)) == "Basic " + expected)
    }

    @Test("Letters and their marks become the characters that Foundation's NFC has")
    func composed() {
        let letters = [
            0xC0..<0x250, 0x386..<0x530, 0x622..<0x6D4, 0x1E00..<0x2000, 0x3040..<0x3100,
        ]
        let values = letters.flatMap(Array.init) + Array(stride(from: 0xAC00, to: 0xD7A4, by: 997))
        for scalar in values.compactMap({ Unicode.Scalar(UInt32($0)) }) {
            let apart = String(Character(scalar)).decomposedStringWithCanonicalMapping
            guard apart.unicodeScalars.count > 1 else { continue }
            let expected = apart.precomposedStringWithCanonicalMapping
            #expect(
                Array(apart.composed.utf8) == Array(expected.utf8),
                "U+\(String(scalar.value, radix: 16))")
        }
        for text in ["\u{212B}", "\u{2126}", "\u{1F71}", "q\u{301}", "👨‍👩‍👧", "漢字", "שׁ"] {
            let expected = text.precomposedStringWithCanonicalMapping
            #expect(Array(text.composed.utf8) == Array(expected.utf8), "\(text)")
        }
    }

    @Test("A request keeps the Authorization that it has")
    func own() async throws {
        let field = try await sent(.basic(user: "u", password: "p")) {
            $0.header(.authorization, "Custom x")
        }
        #expect(field == "Custom x")
    }

    @Test(
        "A user or password that cannot be sent fails the call before anything is sent",
        arguments: [("a:b", "p"), ("a\r\nb", "p"), ("a", "p\0"), ("a\u{7F}", "p")])
    func invalid(user: String, password: String) async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, [.basic(user: user, password: password)])
        #expect(await code(of: client.get(anywhere)) == .configuration)
        #expect(transport.sentCount == 0)
    }

    @Test("A refused credential is not sent again")
    func refused() async throws {
        let transport = MockTransport { _ in
            .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
        }
        let client = Client(transport, [.basic(user: "u", password: "p")])
        #expect(try await client.get(anywhere).response().status == 401)
        #expect(transport.sentCount == 1)
    }
}
