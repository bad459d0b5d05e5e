// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("TestServer")
struct TestServerTests {
    private static let letters = Data("abcdefghij".utf8)

    private let server: TestServer
    private let client: Client

    init() throws {
        server = try TestServer()
        client = Client(baseURL: server.target, transport: URLSessionTransport(), stack: [])
    }

    struct RangeCase: Sendable, CustomTestStringConvertible {
        let range: String
        let status: HTTPStatus
        let contentRange: String?
        let content: String
        var testDescription: String { range }
    }

    static let ranges = [
        RangeCase(range: "bytes=0-2", status: 206, contentRange: "bytes 0-2/10", content: "abc"),
        RangeCase(range: "bytes=7-", status: 206, contentRange: "bytes 7-9/10", content: "hij"),
        RangeCase(range: "bytes=-2", status: 206, contentRange: "bytes 8-9/10", content: "ij"),
        RangeCase(
            range: "bytes=-20", status: 206, contentRange: "bytes 0-9/10", content: "abcdefghij"),
        RangeCase(range: "Bytes=9-99", status: 206, contentRange: "bytes 9-9/10", content: "j"),
        RangeCase(
            range: "bytes=1-99999999999999999999", status: 206, contentRange: "bytes 1-9/10",
            content: "bcdefghij"),
        RangeCase(range: "bytes=10-", status: 416, contentRange: "bytes */10", content: ""),
        RangeCase(range: "bytes=-0", status: 416, contentRange: "bytes */10", content: ""),
        RangeCase(range: "bytes=50-60,70-", status: 416, contentRange: "bytes */10", content: ""),
        RangeCase(range: "bytes=20-,1-1", status: 206, contentRange: "bytes 1-1/10", content: "b"),
        RangeCase(range: "bytes=3-1", status: 200, contentRange: nil, content: "abcdefghij"),
        RangeCase(range: "bytes=a-b", status: 200, contentRange: nil, content: "abcdefghij"),
        RangeCase(range: "lines=1-2", status: 200, contentRange: nil, content: "abcdefghij"),
        RangeCase(range: "bytes=", status: 200, contentRange: nil, content: "abcdefghij"),
    ]

    @Test("What was sent is read as at a mock, and a late answer is late by its delay")
    func content() async throws {
        server.route("/x", .ok(text: "x").delayed(by: .milliseconds(1)))
        _ = try await client.post("x", json: ["a": 1]).string()
        let sent = try #require(server.requests(to: "/x").first)
        #expect(sent.text == #"{"a":1}"#)
        #expect(try sent.json()["a"] == 1)
    }

    @Test("Ranges are answered by RFC 9110", arguments: ranges)
    func range(_ expected: RangeCase) async throws {
        server.route("/file", .ranges(of: Self.letters))
        let response = try await client.get("file", headers: ["Range": expected.range]).response()
        #expect(response.status == expected.status)
        #expect(response.headers[.contentRange] == expected.contentRange)
        #expect(response.headers[.acceptRanges] == "bytes")
        #expect(try await response.body.collect(upTo: 100) == Data(expected.content.utf8))
    }

    @Test("Several ranges come as parts")
    func severalRanges() async throws {
        server.route("/file", .ranges(of: Self.letters, type: .plainText))
        let text = try await client.get("file", headers: ["Range": "bytes=0-1, -1"]).string()
        #expect(text.contains("Content-Range: bytes 0-1/10\r\n\r\nab\r\n"))
        #expect(text.contains("Content-Range: bytes 9-9/10\r\n\r\nj\r\n--range--"))
    }

    @Test("If-Range with another tag or date gives the whole content")
    func ifRange() async throws {
        let date = Date(timeIntervalSince1970: 784_111_777)
        server.route("/file", .ranges(of: Self.letters, tag: "\"v2\"", lastModified: date))
        server.route("/weak", .ranges(of: Self.letters, tag: "W/\"v2\""))
        for (path, field, status) in [
            ("file", "\"v2\"", 206), ("file", "\"v1\"", 200), ("weak", "W/\"v2\"", 200),
            ("file", "Sun, 06 Nov 1994 08:49:37 GMT", 206),
            ("file", "Sun, 06 Nov 1994 08:49:38 GMT", 200),
        ] {
            let headers: HTTPHeaders = ["Range": "bytes=0-0", "If-Range": field]
            let response = try await client.get(Target(path), headers: headers).response()
            #expect(response.status.code == status, "\(field)")
            _ = try await response.body.collect(upTo: 100)
        }
        #expect(
            try await client.head("file", headers: ["Range": "bytes=0-0"]).response().status == 200)
    }

    @Test("The gauges count connections and requests: open, accepted and the most at once")
    func gauges() async throws {
        let hold = TestHold()
        server.route("/held", .ok(text: "late").held(by: hold))
        async let answers: [String] = withThrowingTaskGroup { group in
            for _ in 0..<3 { group.addTask { [client] in try await client.get("held").string() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await server.wait { $0.inFlight == 3 }
        #expect(server.counts.open == 3)
        hold.open()
        #expect(try await answers == ["late", "late", "late"])
        try await server.wait { $0.inFlight == 0 }
        #expect(server.counts.peak == 3 && server.counts.peakInFlight == 3)
        #expect(server.counts.accepted == 3 && server.counts.requests == 3)
        #expect(server.counts.abandoned == 0)
        await client.shutdown()
        try await server.wait { $0.open == 0 }
        #expect(server.counts.peak == 3)
    }

    @Test("A request counts from its head on, and is recorded with its content")
    func head() async throws {
        let connection = try #require(RawConnection(port: server.port))
        connection.write("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
        try await server.waitForRequests(1)
        #expect(server.counts.inFlight == 1 && server.counts.peakInFlight == 1)
        #expect(server.requests.isEmpty)
        connection.write("b")
        try await server.wait { $0.inFlight == 0 }
        #expect(server.counts.requests == 1)
        #expect(server.requests.map(\.body) == [Data("ab".utf8)])
    }

    @Test("A cancelled task does not wait")
    func cancelledWaiter() async throws {
        let left = OneShot<Void>()
        let waiter = Task { [server] in
            try await server.wait { _ in false }
            left.settle(.success(()))
        }
        waiter.cancel()
        try await until("the end of the wait") { left.isSettled }
    }

    @Test("An answer that its client does not wait for is no longer in flight")
    func abandoned() async throws {
        server.route("/silence", .silence)
        let call = client.get("silence").start(.data)
        try await server.wait { $0.inFlight == 1 }
        call.cancel()
        try await server.wait { $0.abandoned == 1 && $0.inFlight == 0 }
    }

    @Test("Chunked requests are read with their trailers, and chunked responses may have trailers")
    func chunked() async throws {
        server.route(
            "/up",
            .chunked([Data("one".utf8), Data("two".utf8)], trailers: ["X-Sum": "6"]).thenClose())
        let answer = await rawExchange(
            port: server.port,
            "POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4;x=y\r\nab\r\n\r\n1\r\nc\r\n0\r\nX-End: yes\r\n\r\n")
        #expect(answer.hasSuffix("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\nX-Sum: 6\r\n\r\n"))
        let request = try #require(server.requests.first)
        #expect(request.body == Data("ab\r\nc".utf8) && request.bodyBytes == 5)
        #expect(request.trailers == ["X-End": "yes"] && request.isComplete)
    }

    @Test("A response to HEAD is the head alone")
    func headMethod() async throws {
        server.route("/chunked", .chunked([Data("x".utf8)]).thenClose())
        server.route("/drip", .drip(Data("xy".utf8), every: .milliseconds(1)).thenClose())
        for path in ["/chunked", "/drip"] {
            let answer = await rawExchange(
                port: server.port, "HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.hasSuffix("\r\n\r\n") && answer.hasPrefix("HTTP/1.1 200"), "\(path)")
        }
    }

    @Test("100-continue: asked for, held back, and answered without it")
    func expecting() async throws {
        func head(_ path: String) -> String {
            "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        }
        server.route("/go", .ok(text: "done").thenClose())
        let asked = await rawExchange(port: server.port, head("/go") + "ab")
        #expect(asked.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"))
        server.route("/no", .status(417).withoutReading().thenClose())
        #expect(await rawExchange(port: server.port, head("/no")).hasPrefix("HTTP/1.1 417"))
        server.route("/still", .ok(text: "done").withoutContinue().thenClose())
        #expect(
            await rawExchange(port: server.port, head("/still") + "ab").hasPrefix("HTTP/1.1 200"))
        let hold = TestHold()
        server.route("/held", .ok(text: "done").reading(heldBy: hold).thenClose())
        async let held = rawExchange(port: server.port, head("/held") + "ab")
        try await server.wait { $0.inFlight == 1 }
        #expect(server.counts.requests == 4)
        hold.open()
        #expect(await held.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"))
    }

    @Test("Dripping content has at least one byte per drip")
    func drip() async throws {
        server.route("/", .drip(Data("xy".utf8), bytes: 0, every: .milliseconds(1)).thenClose())
        let answer = await rawExchange(
            port: server.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.hasSuffix("\r\n\r\nxy"))
    }

    @Test("A request is parsed by bytes: a delimiter before a combining mark is a delimiter")
    func delimiters() async throws {
        server.route("/\u{301}", .ok(text: "x").thenClose())
        let text =
            "PUT /\u{301}?\u{301}a HTTP/1.1\r\nX-A:\u{301}b\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "2;\u{301}\r\nhi\r\n0\r\nX-B:\u{301}c\r\n\r\n"
        let answer = await rawExchange(port: server.port, text)
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        let request = try #require(server.requests.first)
        #expect(request.path == "/\u{301}" && request.query == "\u{301}a")
        #expect(request.headers["X-A"] == "\u{301}b")
        #expect(request.body == Data("hi".utf8) && request.isComplete)
        #expect(request.trailers == ["X-B": "\u{301}c"])
    }
}
