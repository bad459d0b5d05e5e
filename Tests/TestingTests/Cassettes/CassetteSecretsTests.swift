// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Secrets and cassettes")
struct CassetteSecretsTests {
    private let folder = CassetteFolder()

    // Each is found by where it stands, not by its looks.
    private static func secret(_ place: String) -> String { "planted-\(place)-secret" }

    private static var request: Request {
        let boundary = "limit"
        let parts = """
            --limit\r\nContent-Disposition: form-data; name="password"\r\n\r\n\
            \(secret("multipart"))\r\n--limit\r\nContent-Disposition: form-data; name="file"; \
            filename="a.json"\r\nContent-Type: application/json\r\n\r\n\
            {"api_key":"\(secret("partjson"))"}\r\n--limit--\r\n
            """
        return Request(
            .post,
            Target(
                "https://ada:\(secret("userinfo"))@a.example/x?api_key=\(secret("query"))&q=1&back="
                    + "https%3A%2F%2Fb.example%2F%3Faccess_token%3D\(secret("nestedquery"))"),
            headers: [
                "Authorization": "Bearer \(secret("authorization"))",
                "Proxy-Authorization": "Basic \(secret("proxy"))",
                "Cookie": "sid=\(secret("cookie")); theme=dark",
                "X-Api-Key": secret("apikey"),
                "Referer": "https://a.example/?token=\(secret("referer"))",
            ],
            body: .data(
                Data(parts.utf8),
                type: MediaType(parsing: "multipart/form-data; boundary=\(boundary)")))
    }

    @Test("Encoded content, which cannot be searched, is not recorded")
    func coded() async throws {
        let (client, _, _) = try folder.recording { _ in
            .status(200, headers: ["Content-Encoding": "gzip"], body: Data([0x1F, 0x8B, 0x08]))
        }
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://a.example/").data()
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("Content-Encoding") == true)
    }

    private static let places = [
        "multipart", "partjson", "userinfo", "query", "nestedquery", "authorization", "proxy",
        "cookie", "apikey", "referer", "setcookie", "location", "json", "deep", "jsoninjson",
        "form",
        "jsonbody", "nestedbody", "event", "xml", "binary", "latin",
    ]

    private static func answer(to request: Request) -> MockResponse {
        let json: JSONValue = [
            "user": "ada", "access_token": .string(secret("json")), "code": 200,
            "list": [["client_secret": ["value": .string(secret("deep"))]]],
            "text": .string("{\"password\":\"\(secret("jsoninjson"))\"}"),
            "you": .string("sent \(secret("apikey")) and Bearer \(secret("authorization"))"),
        ]
        var headers: HTTPHeaders = [
            "Set-Cookie": "sid=\(secret("setcookie")); Path=/; HttpOnly",
            "Location": "https://a.example/next?token=\(secret("location"))",
        ]
        switch request.url.path() {
        case "/events":
            return .stream(
                [Data("data: {\"token\":\"\(secret("event"))\"}\n\n".utf8)],
                headers: ["Content-Type": "text/event-stream"])
        case "/xml":
            headers["Content-Type"] = "application/xml"
            return .status(
                200, headers: headers,
                body: Data("<a><password>\(secret("xml"))</password></a>".utf8))
        case "/latin":
            return .status(
                200, headers: ["Content-Type": "text/plain; charset=iso-8859-1"],
                body: Data("gr\u{FC}\u{DF}e".unicodeScalars.map { UInt8($0.value) })
                    + Data(" https://a.example/?token=\(secret("latin")) ".utf8))
        case "/binary":
            // An echo of what the request carried, in bytes that are no text.
            return .status(
                200, body: Data([0xFF, 0xFE]) + Data("\(secret("apikey"))".utf8) + Data([0xFF]))
        default: return .ok(json: json, headers: headers)
        }
    }

    private func record() async throws {
        let (client, cassette, _) = try folder.recording { Self.answer(to: $0) }
        let base = "https://a.example"
        _ = try await client.request(Self.request).data()
        let key: HTTPHeaders = ["X-Api-Key": Self.secret("apikey")]
        for path in ["/events", "/xml", "/binary", "/latin"] {
            _ = try await client.get(Target(base + path), headers: key).data()
        }
        let form = "user=ada&password=\(Self.secret("form"))"
        _ = try await client.post(
            Target(base + "/form"), body: .data(Data(form.utf8), type: .form)
        ).data()
        let body: JSONValue = [
            "password": .string(Self.secret("jsonbody")),
            "a": ["b": [["refresh_token": .string(Self.secret("nestedbody"))]]],
        ]
        _ = try await client.post(Target(base + "/json"), body: .json(body)).data()
        // A token of an answer in places that do not tell.
        _ = try await client.get(Target(base + "/sessions/\(Self.secret("json"))")).data()
        #expect(cassette.recordedCount == 8)
    }

    @Test("No planted secret is found in a recorded file", arguments: places)
    func planted(place: String) async throws {
        try await record()
        let text = try folder.text()
        #expect(!text.contains(Self.secret(place)))
        // Nor in what stands in base64.
        for entry in try folder.entries() {
            let texts = [
                entry["response"]?["content"]?["text"], entry["request"]?["postData"]?["text"],
            ]
            for encoded in texts.compactMap({ $0?.string }) {
                guard let data = Data(base64Encoded: encoded) else { continue }
                #expect(data.range(of: Data(Self.secret(place).utf8)) == nil)
            }
        }
    }

    @Test("Redaction keeps names of cookies, kinds of values and harmless fields")
    func left() async throws {
        try await record()
        let entry = try folder.entries()[0]
        let request = try #require(entry["request"])
        #expect(
            request["url"]?.string
                == "https://a.example/x?api_key=REDACTED&q=1&back=REDACTED")
        #expect(
            request["cookies"]
                == [["name": "sid", "value": "REDACTED"], ["name": "theme", "value": "REDACTED"]])
        let content = try #require(entry["response"]?["content"]?["text"]?.string)
        let json = try JSONValue(parsing: content)
        #expect(json["user"] == "ada")
        #expect(json["code"] == 200)
        #expect(json["access_token"] == "REDACTED")
        #expect(json["list"]?[0]?["client_secret"]?["value"] == "REDACTED")
        #expect(json["you"] == "sent REDACTED and Bearer REDACTED")
        let cookie = try #require(entry["response"]?["cookies"]?[0])
        #expect(cookie["name"] == "sid" && cookie["path"] == "/" && cookie["httpOnly"] == true)
        #expect(try folder.entries()[7]["request"]?["url"] == "https://a.example/sessions/REDACTED")
    }

    @Test("A replay matches redacted requests: with other secrets, and with those of responses")
    func replays() async throws {
        try await record()
        let (client, cassette) = try folder.replaying()
        var request = Self.request
        request.headers[.authorization] = "Bearer quite-another-token"
        request.headers["X-Api-Key"] = "quite-another-key-1"
        let json = try await client.request(request).json()
        let token = try #require(json["access_token"]?.string)
        _ = try await client.get(Target("https://a.example/sessions/\(token)")).data()
        #expect(cassette.unmatched.isEmpty)
    }

    @Test("Added names are hidden, and nothing if redaction is off")
    func names() async throws {
        let request = Request(
            .get, "https://a.example/?email=ada@b.example", headers: ["X-Who": "ada"])
        for (redaction, hides) in [
            (Redaction.standard.adding(headers: ["X-Who"], query: ["email"]), true), (nil, false),
        ] {
            let (client, _, _) = try folder.recording(
                options: CassetteOptions(redaction: redaction)
            ) {
                _ in .ok(text: "x")
            }
            _ = try await client.request(request).data()
            #expect(try folder.text().contains("ada") == !hides)
        }
    }

    @Test("A compressed request is recorded without its content, which cannot be searched")
    func compressed() async throws {
        let body = RequestBody.data(Data([0x1F, 0x8B, 1, 2, 3]), type: .json)
        let headers: HTTPHeaders = ["Content-Encoding": "gzip"]
        let (client, _, _) = try folder.recording { _ in .ok(text: "x") }
        _ = try await client.request(.post, "https://a.example/", headers: headers, body: body)
            .data()
        #expect(try folder.entries()[0]["request"]?["postData"]?["text"] == "")
        let (replay, _) = try folder.replaying()
        let again = replay.request(.post, "https://a.example/", headers: headers, body: body)
        #expect(try await again.string() == "x")
    }

    @Test("Content that cannot be read to its end is a placeholder, and the recording says so")
    func withheld() async throws {
        let broken = "{\"id\": 4711, \"password\": \"planted"
        let line = "(withheld: JSON of \(broken.utf8.count) bytes, SHA-256 "
        let (client, cassette, _) = try folder.recording { request in
            let type = request.url.path() == "/text" ? "text/plain" : "application/json"
            return .status(200, headers: ["Content-Type": type], body: Data(broken.utf8))
        }
        let body = RequestBody.data(Data(broken.utf8), type: .json)
        _ = try await client.post("https://a.example/?token=planted", body: body).data()
        _ = try await client.get("https://a.example/whole").data()
        #expect(cassette.withheld.count == 3)
        #expect(
            cassette.withheld[0].hasPrefix(
                "POST https://a.example/?token=REDACTED, the request: \(line)"))
        #expect(
            cassette.withheld[1].hasPrefix(
                "POST https://a.example/?token=REDACTED, the response: \(line)"))
        let entry = try folder.entries()[0]
        #expect(entry["_turnpike"]?["withheld"]?[0]?.string == cassette.withheld[0])
        #expect(entry["response"]?["content"]?["text"]?.string?.hasPrefix(line) == true)
        #expect(try !folder.text().contains("planted"))

        let (replay, replaying) = try folder.replaying()
        let again = try await replay.post("https://a.example/?token=other", body: body).string()
        #expect(again.hasPrefix(line))
        #expect(replaying.withheld == cassette.withheld)
        // Other content that cannot be read is another request.
        let other = RequestBody.data(Data("{\"id\": 4712".utf8), type: .json)
        await expectError(.unsupported) {
            try await replay.post("https://a.example/?token=other", body: other).data()
        }
    }

    @Test("Combining marks next to a secret do not hide it", arguments: ["\u{301}", "\u{200D}"])
    func marks(mark: String) async throws {
        let (client, _, _) = try folder.recording { _ in
            .ok(
                text: "echo of \(mark)pl4nted-basic and pl4nted-cookie\(mark) and \(mark)",
                headers: ["Set-Cookie": "a=\(mark)pl4nted-set; Path=/"])
        }
        let basic = Data("ada:\(mark)pl4nted-basic".utf8).base64EncodedString()
        _ = try await client.post(
            "http://a.example/?x=1",
            body: .data(Data("q=1&password=\(mark)pl4nted-form".utf8), type: .form),
            headers: [
                "Cookie": "a=1; sid=\(mark)pl4nted-cookie; \(mark)b=pl4nted-two",
                "Authorization": "Basic \(basic)", "X-Api-Key": "pl4nted-cookie",
            ]
        ).data()
        let tape = try Data(contentsOf: folder.file)
        for secret in ["basic", "cookie", "set", "form", "two"] {
            #expect(tape.range(of: Data("pl4nted-\(secret)".utf8)) == nil, "\(secret)")
        }
    }

    @Test("A file with more secrets than can be searched for is not written")
    func tooMany() async throws {
        @Sendable func token(_ number: Int) -> String {
            "planted-\(number)-" + Self.secret("token")
        }
        let (client, cassette, _) = try folder.recording { _ in
            .ok(json: ["tokens": .array((0..<4000).map { ["access_token": .string(token($0))] })])
        }
        _ = try await client.get("https://a.example/a").data()
        let later = await #expect(throws: ClientError.self) {
            try await client.get(Target("https://a.example/\(token(3999))")).data()
        }
        #expect(later?.code == .tooLarge)
        let error = #expect(throws: ClientError.self) { try cassette.save() }
        #expect(error?.code == .tooLarge)
        let kept = (try? String(contentsOf: cassette.file, encoding: .utf8)) ?? ""
        #expect(!kept.contains("planted"))
    }
}
