// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("HAR files")
struct HARFileTests {
    private let folder = CassetteFolder()

    @Test("A recording conforms to the schema of HAR 1.2")
    func schema() async throws {
        let clock = ManualClock()
        let (client, cassette, _) = try folder.recording(clock: clock) { request in
            switch request.url.path() {
            case "/redirect":
                return .status(
                    302,
                    headers: [
                        "Location": "/next",
                        "Set-Cookie": "a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Secure",
                    ])
            case "/binary": return .status(200, body: Data([0, 255, 254]))
            case "/stream": return .stream([Data("a".utf8), Data("b".utf8)])
            case "/empty": return .status(204)
            default: return .ok(json: ["answer": "grüße\u{1}"])
            }
        }
        let bodies: [RequestBody] = [
            .empty, .json(["a": 1]), .data(Data([0, 255]), type: .octetStream), .text("x"),
            .data(Data("a=1&b=%20".utf8), type: .form),
        ]
        for path in ["redirect", "binary", "stream", "empty", "json?a=1&b"] {
            for body in bodies {
                _ = try await client.post(Target("https://a.example/\(path)"), body: body).data()
            }
        }
        for try await _ in try await client.get("https://a.example/stream").response().body {
            break
        }
        try cassette.save()
        #expect(try folder.entries().count == 26)
        #expect(HARSchema.faults(of: try folder.har()) == [])
    }

    @Test("An empty recording is a file, too")
    func empty() async throws {
        let (_, cassette, _) = try folder.recording { _ in .ok() }
        try cassette.save()
        #expect(HARSchema.faults(of: try folder.har()) == [])
        #expect(try folder.har()["log"]?["creator"]?["name"] == "Turnpike")
    }

    @Test("The checker of the schema finds mistakes")
    func checker() throws {
        let faults = HARSchema.faults(
            of: try JSONValue(parsing: #"{"log":{"version":1,"entries":[{"time":-5}],"more":1}}"#))
        #expect(faults.contains("$.log.creator is missing"))
        #expect(faults.contains("$.log.version is not a string"))
        #expect(faults.contains("$.log.more is not known"))
        #expect(faults.contains("$.log.entries[0].time is no number from 0"))
        #expect(faults.contains("$.log.entries[0].request is missing"))
    }

    @Test("Encoded content is replayed unchanged if nothing is redacted")
    func encoded() async throws {
        let bytes = Data([0x1F, 0x8B, 8, 0, 0xFF])
        let plain = CassetteOptions(redaction: nil)
        let (client, _, _) = try folder.recording(options: plain) { _ in
            .status(200, headers: ["Content-Encoding": "gzip"], body: bytes)
        }
        _ = try await client.get("https://a.example/").response().body.collect(upTo: 100)
        let (replay, _) = try folder.replaying()
        let response = try await replay.get("https://a.example/").response()
        #expect(response.headers[.contentEncoding] == "gzip")
        #expect(try await response.body.collect(upTo: 100) == bytes)
    }

    // MARK: Files of others

    @Test("A file that another tool exported replays: redirects, cookies, base64, forms")
    func foreign() async throws {
        try folder.write(Self.exported)
        #expect(HARSchema.faults(of: try folder.har()) == [])
        let jar = CookieJar()
        let (client, cassette) = try folder.replaying(stack: [.redirect(), .cookies(jar)])
        let page = try await client.get("https://shop.example/start?lang=de").response()
        #expect(page.status == 200)
        #expect(page.url.absoluteString == "https://shop.example/welcome")
        #expect(page.head.version == "2")
        #expect(page.headers.values(of: .setCookie).count == 2, "one line, joined by the tool")
        #expect(page.headers[.contentEncoding] == nil)
        #expect(page.headers[.contentLength] == "14")
        #expect(
            String(decoding: try await page.body.collect(upTo: 99), as: UTF8.self) == "<p>Grüße</p>"
        )
        #expect(page.headers[.contentType] == "text/html; charset=utf-8")
        #expect(page.hops.map(\.status) == [302])
        let image = try await client.get("https://shop.example/logo.png").data()
        #expect(image == Data([0x89, 0x50, 0x4E, 0x47]))
        let login = try await client.post(
            "https://shop.example/login",
            body: .data(Data("password=other-than-recorded&user=ada".utf8), type: .form)
        ).response()
        #expect(login.status == 204)
        let made = try await client.get("https://shop.example/old").response()
        #expect(made.url.path() == "/logo.png", "a redirect without Location has redirectURL")
        #expect(made.hops.count == 1)
        let failed = await #expect(throws: ClientError.self) {
            try await client.get("https://shop.example/blocked").data()
        }
        #expect(failed?.code == .connection)
        let hollow = await #expect(throws: ClientError.self) {
            try await client.get("https://shop.example/hollow").data()
        }
        #expect(hollow?.message.contains("does not contain the 7000 bytes") == true)
        try cassette.verify()
        let asked = Request(.get, "https://shop.example/")
        let names = Set(jar.cookies(for: asked, at: client.timeSource.date).map(\.name))
        #expect(names == ["sid", "lang", "made"])
    }

    @Test("The smallest file that a tool may write is replayed")
    func least() async throws {
        try folder.write(
            """
            {"log":{"entries":[{"request":{"method":"GET","url":"http://a.example/"},
            "response":{"status":200,"content":{"text":"x"},"headers":null}}]}}
            """)
        let (client, _) = try folder.replaying()
        #expect(try await client.get("http://a.example").string() == "x")
    }

    @Test(
        "Field lines that a tool joined with line breaks are split again",
        arguments: ["\\n", "\\r\\n"])
    func joined(lineEnd: String) async throws {
        try folder.write(
            """
            {"log":{"entries":[{"request":{"method":"GET","url":"http://a.example/"},
            "response":{"status":200,"content":{"text":"x"},
            "headers":[{"name":"Set-Cookie","value":"a=1\(lineEnd)b=2"}]}}]}}
            """)
        let (client, _) = try folder.replaying()
        let head = try await client.get("http://a.example").response().head
        #expect(head.headers.values(of: .setCookie).count == 2)
    }

    @Test("Members of other tools stay when an exchange is added")
    func kept() async throws {
        try folder.write(Self.exported)
        let before = try folder.har()
        let (client, _, _) = try folder.recording(.recordMissing) { _ in .ok(text: "added") }
        _ = try await client.get("https://shop.example/added").data()
        let after = try folder.har()
        #expect(HARSchema.faults(of: after) == [])
        #expect(after["log"]?["browser"] == before["log"]?["browser"])
        #expect(after["log"]?["_custom"] == before["log"]?["_custom"])
        let entries = try folder.entries()
        let old = try #require(before["log"]?["entries"]?.array)
        #expect(Array(entries.dropLast()) == old)
    }

    private static let exported = """
        {"log": {"version": "1.2", "_custom": {"a": [1]}, "comment": "by hand",
          "creator": {"name": "Browser Tools", "version": "12.1"},
          "browser": {"name": "Browser", "version": "12"},
          "pages": [{"startedDateTime": "2026-01-02T03:04:05.678+01:00", "id": "page_1",
            "title": "Start", "pageTimings": {"onLoad": -1}}],
          "entries": [
            \(entry("GET", "https://shop.example/start?lang=de", 302, content: #"{"size": 0, "mimeType": ""}"#, more: #""redirectURL": "https://shop.example/welcome", "headers": [{"name": "location", "value": "/welcome"}]"#)),
            \(entry("GET", "https://shop.example/welcome", 200, content: #"{"size": 14, "mimeType": "text/html", "text": "<p>Grüße</p>", "comment": "decoded"}"#, more: #""redirectURL": "", "headers": [{"name": ":status", "value": "200"}, {"name": "content-type", "value": "text/html; charset=iso-8859-1"}, {"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "9"}, {"name": "set-cookie", "value": "sid=recorded-1; Path=/; HttpOnly\nlang=de; Path=/"}]"#)),
            \(entry("GET", "https://shop.example/logo.png", 200, content: #"{"size": 4, "mimeType": "image/png", "text": "iVBORw==", "encoding": "base64"}"#, more: #""redirectURL": "", "headers": [{"name": "Content-Type", "value": "image/png"}]"#)),
            \(entry("POST", "https://shop.example/login", 204, content: #"{"size": 0, "mimeType": ""}"#, more: #""redirectURL": "", "headers": []"#, cookies: #"[{"name": "made", "value": "of cookies", "path": "/", "expires": "2036-01-01T00:00:00Z", "secure": true}]"#, posted: #""postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "user", "value": "ada"}, {"name": "password", "value": "recorded", "comment": "p"}]},"#)),
            \(entry("GET", "https://shop.example/old", 301, content: #"{"size": 0, "mimeType": ""}"#, more: #""redirectURL": "https://shop.example/logo.png", "headers": []"#)),
            \(entry("GET", "https://shop.example/blocked", 0, content: #"{"size": 0, "mimeType": "x-unknown"}"#, more: #""redirectURL": "", "_error": "net::ERR_BLOCKED", "headers": []"#)),
            \(entry("GET", "https://shop.example/hollow", 200, content: #"{"size": 7000, "mimeType": "text/css"}"#, more: #""redirectURL": "", "headers": []"#)),
            \(entry("GET", "wss://shop.example/socket", 101, content: #"{"size": 0, "mimeType": ""}"#, more: #""redirectURL": "", "headers": []"#))
          ]}}
        """

    private static func entry(
        _ method: String, _ url: String, _ status: Int, content: String, more: String,
        cookies: String = "[]", posted: String = ""
    ) -> String {
        """
        {"pageref": "page_1", "startedDateTime": "2026-01-02T03:04:05.678+01:00", "time": 5.5,
         "_initiator": {"type": "other"}, "connection": "443", "serverIPAddress": "192.0.2.1",
         "request": {"method": "\(method)", "url": "\(url)", "httpVersion": "http/2.0",
           "headers": [{"name": ":method", "value": "\(method)"},
             {"name": "Content-Type", "value": "application/x-www-form-urlencoded"}],
           "queryString": [], "cookies": [], \(posted) "headersSize": -1, "bodySize": 0},
         "response": {"status": \(status), "statusText": "", "httpVersion": "http/2.0",
           \(more), "cookies": \(cookies), "content": \(content),
           "headersSize": -1, "bodySize": -1, "_transferSize": 300},
         "cache": {}, "timings": {"blocked": 1.5, "dns": -1, "connect": -1, "ssl": -1, "send": 0,
           "wait": 3, "receive": 1, "_blocked_queueing": 1.2}}
        """
    }
}
