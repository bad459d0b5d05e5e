// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Trailer fields over libcurl")
struct CurlTrailerTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture(stack: .standard)
        server = fixture.server
        client = fixture.client
    }

    private func chunked(_ end: String, closes: Bool = false) -> TestAnswer {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        return .raw(Data((head + end).utf8), closes: closes)
    }

    @Test("They are there once the body was read, through the standard stack")
    func end() async throws {
        server.route(
            "/", .chunked([Data("hello".utf8)], trailers: ["X-Sum": "5d41", "X-sum": "2"]))
        for _ in 0..<3 {
            let response = try await client.get("/").response()
            #expect(response.trailers.isEmpty)
            #expect(try await response.body.collect(upTo: 10) == Data("hello".utf8))
            #expect(response.trailers.map(\.name.rawValue) == ["X-Sum", "X-sum"])
            #expect(response.trailers["X-Sum"] == "5d41, 2")
            #expect(response.headers["X-Sum"] == nil)
        }
        #expect(server.counts.accepted == 1)
    }

    @Test("They follow content that is long, empty or coded", arguments: ["long", "empty", "gzip"])
    func contents(kind: String) async throws {
        let content = kind == "long" ? Data(count: 3_000_000) : Data()
        let coded =
            Data(
                base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
        let headers: HTTPHeaders = kind == "gzip" ? ["Content-Encoding": "gzip"] : [:]
        let chunks = kind == "gzip" ? [coded] : kind == "empty" ? [] : [content]
        server.route("/", .chunked(chunks, headers: headers, trailers: ["X-Sum": kind]))
        let response = try await client.get("/").response()
        let got = try await response.body.collect(upTo: 4_000_000)
        #expect(got == (kind == "gzip" ? Data("hello".utf8) : content))
        #expect(response.trailers["X-Sum"] == kind)
    }

    @Test("A line like the begin of another head makes the response a broken one")
    func anotherHead() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let end = "0\r\nX-Sum: 1\r\nHTTP/1.1 200 OK\r\n"
        server.route("/", .raw(Data((head + end).utf8)))
        let response = try await client.get("/").response()
        await expectError(.protocol) { try await response.body.collect(upTo: 10) }
        #expect(response.trailers.isEmpty)
    }

    @Test("What would change the message after it was read is dropped")
    func forbidden() async throws {
        let names = [
            "Content-Length", "Transfer-Encoding", "Host", "Content-Encoding", "Content-Type",
            "Content-Range", "Trailer", "Set-Cookie", "Authorization", "Cache-Control", "Location",
            "WWW-Authenticate", "Connection", "If-Match", "content-length", "RETRY-AFTER",
        ]
        let lines = names.map { "\($0): 1\r\n" }.joined()
        server.route("/", chunked("0\r\n" + lines + "ETag: \"a\"\r\n\r\n"))
        let response = try await client.get("/").response()
        let head = response.headers
        _ = try await response.body.collect(upTo: 10)
        #expect(response.trailers.map(\.name) == ["ETag"])
        #expect(response.headers == head)
    }

    @Test(
        "What is no field line is an error of the protocol, after the content",
        arguments: ["no colon\r\n\r\n", "X-A : 1\r\n\r\n", "X-A: a\u{0}b\r\n\r\n", ": 1\r\n\r\n"])
    func nonsense(end: String) async throws {
        server.route("/", chunked("0\r\n" + end))
        let response = try await client.get("/").response()
        var got = Data()
        let error = await #expect(throws: ClientError.self) {
            for try await chunk in response.body { got.append(chunk) }
        }
        #expect(error?.code == .protocol)
        #expect(got == Data("hello".utf8))
        #expect(response.trailers.isEmpty)
    }

    @Test("A section that is too large is refused", arguments: ["lines", "line"])
    func large(what: String) async throws {
        let line = "X-T: " + String(repeating: "v", count: 1000) + "\r\n"
        let end =
            what == "lines"
            ? String(repeating: line, count: 1000)
            : "X-T: " + String(repeating: "v", count: 100_000) + "\r\n"
        server.route("/", chunked("0\r\n" + end + "\r\n"))
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("trailer") == true, "\(error?.message ?? "")")
    }

    @Test("Fields in front of a cut are no trailers, and the body is not whole")
    func cut() async throws {
        server.route("/", chunked("0\r\nX-Sum: 1\r\n", closes: true))
        let response = try await client.get("/").response()
        let error = await #expect(throws: ClientError.self) {
            try await response.body.collect(upTo: 10)
        }
        #expect(error?.code == .incomplete)
        #expect(response.trailers.isEmpty)
    }

    @Test("None is lost that came with the head, where the others come later")
    func halves() async throws {
        let next = DispatchSemaphore(value: 0)
        let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
        let unix = try UnixServer(
            parts: [start + "X-A: 1\r\n", "X-B: 2\r\n", "X-C: 3\r\n\r\n"], next: next)
        defer { unix.stop() }
        let client = try CurlFixture { $0.unixSocket = unix.path }.client
        let response = try await client.get("/").response()
        next.signal()
        next.signal()
        #expect(try await response.body.collect(upTo: 10) == Data("hello".utf8))
        #expect(
            response.trailers.map { "\($0.name.rawValue): \($0.value)" } == [
                "X-A: 1", "X-B: 2", "X-C: 3",
            ])
    }

    @Test("Who gives a body up has none")
    func givenUp() async throws {
        server.route("/", .chunked([Data(count: 100_000)], trailers: ["X-Sum": "1"]))
        let response = try await client.get("/").response()
        for try await _ in response.body { break }
        #expect(response.trailers.isEmpty)
    }

    @Test("A request may say that it wants them")
    func wanted() async throws {
        server.route("/", .ok(text: "x"))
        _ = try await client.get("/", headers: ["TE": "trailers"]).data()
        _ = try await client.get("/").data()
        let requests = server.requests
        #expect(requests.first?.headers[.te] == "trailers")
        #expect(requests.first?.headers[.connection] == "TE")
        #expect(requests.last?.headers.contains(.connection) == false)
    }
}
