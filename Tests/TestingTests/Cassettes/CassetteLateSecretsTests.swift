// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Secrets that a cassette learns late, or in odd forms")
struct CassetteLateSecretsTests {
    private let folder = CassetteFolder()

    // As an instance's metadata service hands out a token.
    @Test(
        "A secret that a later exchange reveals is hidden in the earlier ones",
        arguments: [
            "text/plain", "application/octet-stream", "application/json", "text/html",
        ])
    func later(type: String) async throws {
        let token = "plain-l4ter-t0ken"
        let (client, _, _) = try folder.recording { request in
            guard request.url.path() == "/token" else { return .ok(text: "fine") }
            let text = type == "application/json" ? "[\"\(token)\"]" : "<\(token)>"
            return .status(200, headers: ["Content-Type": type], body: Data(text.utf8))
        }
        _ = try await client.put("http://a.example/token", body: .text("60")).data()
        #expect(try folder.text().contains(token), "nothing tells yet")
        _ = try await client.get("http://a.example/x", headers: ["X-Metadata-Token": token]).data()
        #expect(try !folder.text().contains(token))
        #expect(try folder.entries().count == 2)

        let (replayed, _) = try folder.replaying()
        let shown = try await replayed.put("http://a.example/token", body: .text("60")).data()
        #expect(String(decoding: shown, as: UTF8.self).contains(Redaction.mark))
        let headers: HTTPHeaders = ["X-Metadata-Token": Redaction.mark]
        let answer = try await replayed.get("http://a.example/x", headers: headers).data()
        #expect(answer == Data("fine".utf8))
    }

    @Test(
        "A cookie without a name, and a value's part after a semicolon, are hidden as cookies")
    func cookies() async throws {
        let (client, _, _) = try folder.recording { _ in
            .status(
                200,
                headers: [
                    "Set-Cookie":
                        "a=\"b;s3cret-set\"; Path=/; HttpOnly; X=s3cret-attribute; SameSite=Lax"
                ])
        }
        let headers: HTTPHeaders = ["Cookie": "a=1; s3cret-bare; b=\"c;s3cret-quoted\"; d="]
        _ = try await client.get("http://a.example/", headers: headers).data()
        let text = try folder.text()
        #expect(!text.contains("s3cret"), "\(text)")
        for kept in ["Path=/", "HttpOnly", "SameSite=Lax", "d="] { #expect(text.contains(kept)) }
    }
}
