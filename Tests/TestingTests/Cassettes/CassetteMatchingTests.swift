// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Requests that a cassette considers the same")
struct CassetteMatchingTests {
    private let folder = CassetteFolder()

    private func record(_ request: Request) async throws {
        let (client, _, _) = try folder.recording { _ in .ok(text: "found") }
        _ = try await client.request(request).data()
    }

    private func replay(
        _ request: Request, _ matching: CassetteMatching = CassetteMatching()
    ) async throws -> String {
        let (client, _) = try folder.replaying(options: CassetteOptions(matching: matching))
        return try await client.request(request).string()
    }

    private func complaint(
        _ request: Request, _ matching: CassetteMatching = CassetteMatching()
    ) async throws -> String {
        let error = await #expect(throws: ClientError.self) { try await replay(request, matching) }
        #expect(error?.code == .unsupported)
        return error?.message ?? ""
    }

    private static let form = MediaType.form

    @Test("Order of items, fields and members, spacing and fragments do not count")
    func sameness() async throws {
        try await record(
            Request(.post, "https://a.example/x?b=2&a=1&a=0", body: .json(["p": 1, "q": [2, 3]])))
        let spaced = RequestBody.data(Data(#"{ "q": [2, 3], "p": 1 }"#.utf8), type: .json)
        let again = Request(.post, "https://A.example:443/x?a=1&b=2&a=0#part", body: spaced)
        #expect(try await replay(again) == "found")
        try await record(
            Request(
                .put, "https://a.example/", body: .data(Data("x=1&y=a+b".utf8), type: Self.form)))
        let form = RequestBody.data(Data("y=a%20b&x=1".utf8), type: Self.form)
        #expect(try await replay(Request(.put, "https://a.example", body: form)) == "found")
    }

    @Test("The boundary of multipart content does not count")
    func multipart() async throws {
        func body(_ boundary: String) -> RequestBody {
            let text =
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--\(boundary)--\r\n"
            return .data(
                Data(text.utf8),
                type: MediaType(parsing: "multipart/form-data; boundary=\(boundary)"))
        }
        try await record(Request(.post, "https://a.example/", body: body("first")))
        #expect(
            try await replay(Request(.post, "https://a.example/", body: body("second"))) == "found")
    }

    @Test("The report names the nearest exchange and all differences from it")
    func report() async throws {
        let (client, _, _) = try folder.recording { _ in .ok(text: "found") }
        _ = try await client.get("https://a.example/other").data()
        _ = try await client.post(
            "https://a.example/users?page=1", body: .json(["user": ["name": "Ada", "age": 36]])
        ).data()
        let text = try await complaint(
            Request(
                .post, "https://a.example/users?page=2&x=1",
                body: .json(["user": ["name": "Bob", "age": 36]])))
        #expect(
            text
                == "tape.har has no answer to POST https://a.example/users?page=2&x=1; the nearest is the"
                + " exchange 1 “POST https://a.example/users?page=1”, but the query's page is “2”,"
                + " not “1”, and the query has x, which is unexpected, and the content differs at"
                + " $.user.name")
        let wrong = try await complaint(Request(.get, "http://b.example/other"))
        #expect(wrong.contains("the origin is http://b.example, not https://a.example"))
        #expect(
            try await complaint(Request(.delete, "https://a.example/other")).contains(
                "the method is DELETE, not GET"))
        #expect(
            try await complaint(Request(.get, "https://a.example/another")).contains(
                "the path is /another, not /other"))
    }

    @Test("verify() finds a failure that a stack swallows")
    func verify() async throws {
        try await record(Request(.get, "https://a.example/asked"))
        let (client, cassette) = try folder.replaying()
        _ = try? await client.get("https://a.example/wrong").data()
        #expect(cassette.unmatched.count == 1)
        #expect(cassette.unused == ["the exchange 0 “GET https://a.example/asked”"])
        let error = #expect(throws: ClientError.self) { try cassette.verify() }
        #expect(error?.message.contains("was never replayed") == true)
        #expect(error?.message.contains("/wrong") == true)
    }

    @Test("Rules can ignore origin, content and names, and add header fields")
    func rules() async throws {
        try await record(
            Request(
                .post, "http://127.0.0.1:1234/x?nonce=1", headers: ["Accept": "text/html"],
                body: .json(["sent_at": 1, "a": [["nonce": 1, "b": 2]]])))
        let other = Request(
            .post, "http://127.0.0.1:9/x?nonce=2", headers: ["Accept": "text/html"],
            body: .json(["sent_at": 2, "a": [["nonce": 3, "b": 2]]]))
        var matching = CassetteMatching(origin: false, ignoring: ["nonce", "sent_at"])
        #expect(try await replay(other, matching) == "found")
        matching.headers = [.accept]
        #expect(try await replay(other, matching) == "found")
        var plain = other
        plain.headers[.accept] = "text/plain"
        #expect(
            try await complaint(plain, matching).contains(
                "the header Accept is “text/plain”, not “text/html”"))
        var changed = other
        changed.body = .text("quite another")
        #expect(
            try await complaint(changed, matching).contains("the content is 13 bytes, not JSON"))
        matching.content = false
        matching.headers = []
        #expect(try await replay(changed, matching) == "found")
    }

    @Test("Each exchange is replayed once, if the last one is not repeated")
    func once() async throws {
        try await record(Request(.get, "https://a.example/"))
        let (client, _) = try folder.replaying(options: CassetteOptions(repeatsLast: false))
        #expect(try await client.get("https://a.example/").string() == "found")
        let error = await #expect(throws: ClientError.self) {
            try await client.get("https://a.example/").string()
        }
        #expect(error?.message.contains("has no further answer") == true)
    }

    @Test("A request that only looks the same is different")
    func canonicalEquivalence() async throws {
        try await record(Request(.get, "https://a.example/x?q=e%CC%81"))
        #expect(try await replay(Request(.get, "https://a.example/x?q=e%CC%81")) == "found")
        _ = try await complaint(Request(.get, "https://a.example/x?q=%C3%A9"))
        try await record(Request(.post, "https://a.example/", body: .json(["q": "e\u{301}"])))
        _ = try await complaint(
            Request(.post, "https://a.example/", body: .json(["q": "\u{E9}"])))
    }
}
