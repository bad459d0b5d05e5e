// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("CurlTransport")
struct CurlTransportTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    @Test(
        "A method without content says so where content is expected",
        arguments: [
            ("GET", nil), ("DELETE", nil), ("OPTIONS", nil), ("POST", "0"), ("PUT", "0"),
            ("PATCH", "0"),
        ] as [(HTTPMethod, String?)])
    func emptyContent(method: HTTPMethod, length: String?) async throws {
        server.route("/", .echo)
        #expect(
            try await client.request(method, "/").json()["method"]?.string == method.rawValue)
        #expect(server.requests.first?.headers[.contentLength] == length)
        // What was set for one request is not left for the next.
        #expect(try await client.get("/").json()["method"] == "GET")
    }

    @Test("What libcurl cannot send is said before anything is sent")
    func unsupported() async throws {
        for call in [
            client.request(.head, "/", body: .text("x")), client.request(.connect, "/"),
        ] {
            let error = await #expect(throws: ClientError.self) { try await call.data() }
            #expect(error?.code == .unsupported)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("GET may have content; a fragment and a scheme in capitals do no harm")
    func odd() async throws {
        server.fallback(.echo)
        #expect(try await client.request(.get, "/", body: .text("x")).json()["body"] == "x")
        let target: Target = "HTTP://127.0.0.1:\(server.port)/a/../?x#fragment"
        #expect(try await client.get(target).json()["target"] == "/?x")
    }

    @Test("A refused connection tells of libcurl's failure")
    func refused() async throws {
        server.stop()
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: .text("x")).data()
        }
        #expect((error?.underlying as? CurlFailure)?.code == 7)
    }

    @Test("The timeline tells a new connection from a kept one")
    func timeline() async throws {
        server.route("/", .ok(text: "x"))
        let first = try await client.get("/").response()
        _ = try await first.body.collect(upTo: 10)
        #expect(first.timeline.isConnectionReused == false)
        #expect(first.timeline.peerAddress == "127.0.0.1")
        let sent = try #require(first.timeline.sent)
        let connected = try #require(first.timeline.connected)
        let byte = try #require(first.timeline.firstByte)
        let ready = try #require(first.timeline.ready)
        #expect(sent < connected && connected <= ready && ready <= byte)
        #expect(first.timeline.protocolVersion == "1.1")
        #expect(first.timeline.encodedBodyBytes == 1)
        let second = try await client.get("/").response()
        _ = try await second.body.collect(upTo: 10)
        #expect(second.timeline.isConnectionReused == true)
        #expect(second.timeline.secured == nil)
    }

    @Test("A log at level debug tells of the connection, of one that was not made too")
    func logOfTimes() async throws {
        server.route("/", .ok(text: "x"))
        let sink = MemoryLogSink()
        let client = Client(
            transport: try CurlTransport(),
            stack: [.log(to: sink, level: .debug, format: .json)])
        _ = try await client.get(server.target).data()
        let line = try JSONValue(parsing: Data(try #require(sink.lines.last).utf8))
        #expect(line["version"] == "1.1")
        #expect(line["peer"] == "127.0.0.1")
        #expect(line["reused"] == false)
        // One phase follows the other.
        let phases = try ["connect", "firstByte"].map { name in
            try #require(line["times"]?[name]?.double)
        }
        #expect(phases.reduce(0, +) <= (line["elapsed"]?.double ?? 0))
        _ = try? await client.get("http://127.0.0.1:1/").data()
        let failed = try JSONValue(parsing: Data(try #require(sink.lines.last).utf8))
        #expect(failed["event"] == "failed")
        #expect(failed["reused"] == nil)
        #expect(failed["times"]?["firstByte"] == nil)
    }
}
