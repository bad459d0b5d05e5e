// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Rules of RFC 9111")
struct SemanticsTests {
    struct Case: CustomTestStringConvertible {
        let headers: HTTPHeaders
        /// For how many seconds it is given again; nil for never.
        let seconds: Int?
        var status: HTTPStatus = 200

        var testDescription: String {
            "\(status.code) " + headers.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        }
    }

    static let start = Date(timeIntervalSince1970: 1_700_000_000)

    static let cases: [Case] = [
        Case(headers: ["Cache-Control": "max-age=60"], seconds: 60),
        Case(headers: ["Cache-Control": "MAX-AGE=\"60\""], seconds: 60),
        Case(headers: ["Cache-Control": "max-age=60", "Age": "40"], seconds: 20),
        Case(headers: ["Cache-Control": "max-age=60", "Age": "40, 0"], seconds: 20),
        Case(headers: ["cAcHe-CoNtRoL": "Max-Age=60 ,", "AGE": "40"], seconds: 20),
        Case(headers: ["Cache-Control": "max-age=60", "Age": "-40"], seconds: 60),
        Case(headers: ["Cache-Control": "max-age=60", "Date": (start - 50).http], seconds: 10),
        Case(headers: ["Cache-Control": "max-age=60, s-maxage=5"], seconds: 60),
        Case(headers: ["Cache-Control": "private, max-age=60"], seconds: 60),
        Case(headers: ["Cache-Control": "max-age=60, max-age=5"], seconds: 5),
        Case(headers: ["Cache-Control": "max-age=60, no-cache=\"X-A\""], seconds: 60),
        Case(headers: ["Cache-Control": "x=\"a, max-age=5\", max-age=60"], seconds: 60),
        Case(headers: ["Cache-Control": "max-age=99999999999999999999"], seconds: 1 << 31),
        Case(headers: ["Expires": (start + 60).http], seconds: 60),
        Case(headers: ["Expires": (start + 60).http, "Cache-Control": "max-age=5"], seconds: 5),
        Case(headers: ["Last-Modified": (start - 1000).http], seconds: 100),
        Case(
            headers: [
                "Date": "Wed, 29 Feb 2040 00:00:00 GMT", "Expires": "Wed, 29 Feb 2040 00:00:50 GMT",
            ], seconds: 50),
        Case(
            headers: [
                "Date": "Wed, 28 Mar 2040 23:59:59 GMT",
                "Expires": "thursday, 29-mar-40 00:00:30 gmt",
            ], seconds: 31),
        Case(headers: ["Last-Modified": (start - 1e8).http], seconds: 7 * 86_400),
        Case(headers: ["Cache-Control": "max-age=60"], seconds: 60, status: 404),
        Case(headers: ["Cache-Control": "max-age=60"], seconds: 60, status: 503),
        Case(headers: ["Last-Modified": (start - 1000).http], seconds: 100, status: 410),
        Case(
            headers: ["Cache-Control": "no-store, must-understand, max-age=60"], seconds: 60),

        Case(headers: [:], seconds: nil),
        Case(headers: ["Cache-Control": "no-store, max-age=60"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60", "Pragma": "no-cache"], seconds: 60),
        Case(headers: ["Pragma": "no-cache", "Expires": (start + 60).http], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60, no-cache"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60, no-cache=X-A"], seconds: 60),
        Case(headers: ["Cache-Control": "max-age=60, no-cache=\"\""], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=sixty"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=-60"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60.5"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age='60'"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60, x=\"no-store"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60", "Vary": "Foo, *"], seconds: nil),
        Case(headers: ["Cache-Control": "max-age=60", "Vary": "a b"], seconds: nil),
        Case(headers: ["Expires": "0"], seconds: nil),
        Case(headers: ["Expires": "Thu, 18 Aug 2050 02:01:18 UTC"], seconds: nil),
        Case(headers: ["Expires": "Thu, 18 Aug 2050 2:01:18 GMT"], seconds: nil),
        Case(headers: ["Last-Modified": (start - 1000).http], seconds: nil, status: 403),
        Case(headers: ["Cache-Control": "max-age=60"], seconds: nil, status: 500),
        Case(headers: ["Expires": (start + 60).http], seconds: nil, status: 500),
        Case(headers: ["Cache-Control": "max-age=60"], seconds: nil, status: 206),
        Case(headers: ["Cache-Control": "max-age=60"], seconds: nil, status: 304),
        Case(
            headers: ["Cache-Control": "no-store, must-understand, max-age=60"], seconds: nil,
            status: 599),
    ]

    @Test("A response is served again as long as it is fresh", arguments: cases)
    func lifetime(_ example: Case) async throws {
        let cached = CachedClient(clock: ManualClock(date: Self.start)) { _ in
            .status(example.status, headers: example.headers, body: Data("x".utf8))
        }
        _ = try await cached.get("/a")
        _ = try await cached.get("/a")
        #expect(cached.sent == (example.seconds == nil ? 2 : 1))
        guard let seconds = example.seconds else { return }
        cached.clock.advance(by: .seconds(seconds - 1))
        _ = try await cached.get("/a")
        #expect(cached.sent == 1)
        cached.clock.advance(by: .seconds(1))
        _ = try await cached.get("/a")
        #expect(cached.sent == 2)
    }

    @Test(
        "A quotation without an end may hide a directive, and the response is not stored",
        arguments: [
            ("max-age=60, x=\"", 2), ("max-age=60, x=\"\\\", no-store", 2),
            ("max-age=60, x=\"\\\\\"", 1), ("max-age=60, x=\"\\\"\"", 1),
            ("max-age=60, x=\\\"\"", 1),
        ])
    func openQuotation(line: String, sent: Int) async throws {
        let cached = CachedClient { _ in .ok(text: "x", headers: ["Cache-Control": line]) }
        for _ in 0..<2 { _ = try await cached.get("/a") }
        #expect(cached.sent == sent)
    }

    @Test(
        "A directive means the same beside any other",
        arguments: [
            "max-age=60", ",, max-age=60 ,\tpublic", "max-age=60 x", "max-age=60=1", "max-age",
            "max-age=", "max-age=0000000060", "max-age=1000000000", "max-age=60, max-age=20",
            "private",
            "public=1, max-age=60", "no-store", "no-storey, max-age=60", "max-age=60, NO-CACHE",
            "max-age=60, no-cache=x-a", "must-revalidate, max-age=60", "s-maxage=60",
            "immutable, max-age=60, s-maxage=5", "max-age =60", "max-age= 60", "\u{E9}, max-age=60",
        ])
    func lines(_ line: String) async throws {
        var sent: [[Int]] = []
        for rest in ["", ", quoted=\"\""] {
            let cached = CachedClient { _ in
                .ok(
                    text: "x",
                    headers: [
                        "Cache-Control": line + rest, "ETag": "\"a\"",
                        "Last-Modified": "Tue, 14 Nov 2000 00:00:00 GMT",
                    ])
            }
            var counts: [Int] = []
            for seconds in [0, 0, 19, 1, 39, 1, 1_000_000] {
                cached.clock.advance(by: .seconds(seconds))
                _ = try await cached.get("/a", [.cacheControl: "max-stale=5"])
                counts.append(cached.sent)
            }
            sent.append(counts)
        }
        #expect(sent[0] == sent[1])
    }

    @Test(
        "The directives of a request are obeyed",
        arguments: [
            ("no-cache", 2), ("no-store", 2), ("max-age=0", 2), ("max-age=9", 2),
            ("max-age=10", 1), ("min-fresh=51", 2), ("min-fresh=50", 1), ("max-stale", 1),
            ("only-if-cached", 1), ("max-age=junk", 2), ("min-fresh=99999999999999999999", 2),
        ])
    func wishes(control: String, sent: Int) async throws {
        let cached = CachedClient { _ in .ok(text: "x", headers: ["Cache-Control": "max-age=60"]) }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(10))
        let answer = try await cached.get("/a", [.cacheControl: control])
        #expect(cached.sent == sent && answer.code == 200)
    }

    @Test("A stale response is served if the request allows it; only-if-cached sends nothing")
    func stale() async throws {
        let cached = CachedClient { _ in .ok(text: "x", headers: ["Cache-Control": "max-age=60"]) }
        #expect(try await cached.get("/a", [.cacheControl: "only-if-cached"]).code == 504)
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(70))
        for control in ["max-stale", "max-stale=10", "max-stale=10, only-if-cached"] {
            #expect(try await cached.get("/a", [.cacheControl: control]).code == 200)
        }
        #expect(cached.sent == 1)
        #expect(try await cached.get("/a", [.cacheControl: "only-if-cached"]).code == 504)
        #expect(cached.sent == 1)
        _ = try await cached.get("/a", [.cacheControl: "max-stale=9"])
        #expect(cached.sent == 2)
    }

    @Test("Variants are stored side by side and found by the meaning of the request")
    func variants() async throws {
        let cached = CachedClient { request in
            .ok(
                text: request.headers["X-Kind"] ?? request.headers[.acceptLanguage] ?? "none",
                headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language, X-Kind"])
        }
        for value in ["a, b", "b, a", "B,a"] {
            #expect(try await cached.get("/a", [.acceptLanguage: value]).text == "a, b")
        }
        #expect(try await cached.get("/a").text == "none")
        #expect(try await cached.get("/a", ["X-Kind": "1, 2"]).text == "1, 2")
        #expect(try await cached.get("/a", ["X-Kind": "1,2"]).text == "1, 2")
        #expect(try await cached.get("/a", ["X-Kind": "2,1"]).text == "2,1")
        #expect(cached.sent == 4)
        #expect(
            try await cached.cache.lookUp(#require(URL(string: "http://a.example/a"))).count == 4)
    }

    @Test("A change removes its URL and those that its response names; an error removes nothing")
    func invalidation() async throws {
        let cached = CachedClient { request in
            if request.method == .get {
                return .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
            }
            return .status(
                request.url.query() == nil ? 201 : 400,
                headers: [
                    "Location": "/b", "Content-Location": "http://other.example/a",
                ])
        }
        func fill() async throws {
            for target in ["/a", "/b", "/c", "http://other.example/a"] {
                _ = try await cached.get(target)
            }
        }
        try await fill()
        _ = try await cached.send(.post, "/a?wrong")
        try await fill()
        #expect(cached.sent == 5)
        for method in ["POST", "PUT", "DELETE", "M-SEARCH"] {
            let before = cached.sent
            _ = try await cached.send(HTTPMethod(method), "/a")
            try await fill()
            #expect(cached.sent == before + 3, "\(method)")
        }
    }

    @Test("Ranges and conditions of the caller are answered from complete entries")
    func parts() async throws {
        let cached = CachedClient { request in
            if request.headers.contains(.range) { return .status(206, body: Data("??".utf8)) }
            return .ok(
                text: "0123456789",
                headers: [
                    "Cache-Control": "max-age=60", "ETag": "\"1\"", "Content-Length": "10",
                ])
        }
        #expect(try await cached.get("/a", [.range: "bytes=0-1"]).text == "??")
        #expect(try await cached.get("/a").text == "0123456789")
        let parts = [
            ("bytes=0-1", 206, "01"), ("bytes=5-5", 206, "5"), ("bytes=8-", 206, "89"),
            ("bytes=-3", 206, "789"),
            ("bytes=8-99999999999999999999", 206, "89"), ("bytes=10-", 416, ""),
            ("bytes=-0", 416, ""), ("bytes=2-1", 200, "0123456789"),
            ("lines=0-1", 200, "0123456789"), ("bytes=a-b", 200, "0123456789"),
        ]
        for (range, code, text) in parts {
            let answer = try await cached.get("/a", [.range: range])
            #expect(answer.code == code && answer.text == text, "\(range)")
            #expect(answer.headers[.contentLength] == String(text.utf8.count))
        }
        #expect(
            try await cached.get("/a", [.range: "bytes=0-1"]).headers[.contentRange]
                == "bytes 0-1/10")
        let other = try await cached.get("/a", [.range: "bytes=0-1", .ifRange: "\"2\""])
        #expect(other.text == "0123456789")
        #expect(try await cached.get("/a", [.ifNoneMatch: "W/\"1\", \"2\""]).code == 304)
        #expect(try await cached.get("/a", [.ifNoneMatch: "\"2\""]).code == 200)
        #expect(cached.sent == 2)
        #expect(try await cached.get("/a", [.range: "bytes=0-1,3-4"]).text == "??")
        #expect(cached.sent == 3)
        let head = try await cached.send(.head, "/a")
        #expect(head.text.isEmpty && head.headers[.contentLength] == "10" && cached.sent == 3)
    }

    @Test(
        "A field is stored unless it is about the connection, or Cache-Control or Connection names it",
        arguments: [
            ("X-A", "max-age=60", true), ("X-A", "max-age=60, no-cache=\"X-B, X-A\"", false),
            ("Set-Cookie", "max-age=60", true),
            ("Set-Cookie", "max-age=60, no-cache=\"set-cookie\"", false),
            ("X-Named", "max-age=60", false), ("Keep-Alive", "max-age=60", false),
            ("TE", "max-age=60", false), ("Upgrade", "max-age=60", false),
            ("Proxy-Connection", "max-age=60", false),
            ("Proxy-Authenticate", "max-age=60", false),
            ("Proxy-Authentication-Info", "max-age=60", false),
        ])
    func fields(name: String, control: String, isStored: Bool) async throws {
        let cached = CachedClient { _ in
            .ok(
                text: "x",
                headers: HTTPHeaders([
                    (name, "a=1"), ("Cache-Control", control),
                    ("Connection", "x-named, keep-alive"),
                ]))
        }
        #expect(try await cached.get("/a").headers[HTTPHeaders.Name(name)] == "a=1")
        let second = try await cached.get("/a")
        #expect(cached.sent == 1)
        #expect(second.headers[HTTPHeaders.Name(name)] == (isStored ? "a=1" : nil))
        #expect(!second.headers.contains(.connection))
    }

    @Test("A stored Set-Cookie does not reach the jar again; a new one does")
    func cookies() async throws {
        let jar = CookieJar()
        let cached = CachedClient(outside: [Cookies(jar)]) { request in
            if request.headers.contains(.ifNoneMatch) {
                return .status(304, headers: ["ETag": "\"1\"", "Set-Cookie": "b=2"])
            }
            return .ok(
                headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Set-Cookie": "a=1"])
        }
        _ = try await cached.get("/a")
        jar.removeAll()
        #expect(try await cached.get("/a").headers[.setCookie] == "a=1")
        #expect(jar.cookies.isEmpty)
        cached.clock.advance(by: .seconds(60))
        #expect(try await cached.get("/a").headers[.setCookie] == "b=2")
        #expect(jar.cookies.map(\.name) == ["b"])
    }
}
