// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Trailer fields of requests over libcurl")
struct CurlRequestTrailerTests {
    private let server: TestServer
    private let client: Client
    private let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    private static func counted(_ body: RequestBody) -> RequestBody {
        body.followed(by: ["X-Count", "X-Empty"], reducingInto: { 0 }) {
            $0 += $1.count
        } trailers: {
            ["X-Count": String($0), "X-Empty": "", "x-count": "again"]
        }
    }

    @Test(
        "They follow content of every kind, in chunks",
        arguments: RequestBody.Kind.allCases + [nil], [3, 700_000])
    func kinds(kind: RequestBody.Kind?, count: Int) async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        server.route("/", .ok(text: "x"))
        let content = Data(count: kind == nil ? 0 : count)
        let body = try kind.map { try RequestBody.of($0, content, file: file) } ?? .empty
        for _ in 0..<3 {
            #expect(try await client.put("/", body: Self.counted(body)).string() == "x")
        }
        #expect(server.requests.count == 3)
        for request in server.requests {
            #expect(request.isComplete)
            #expect(request.body == content)
            #expect(request.headers[.transferEncoding] == "chunked")
            #expect(request.headers[.contentLength] == nil)
            #expect(request.headers[.trailer] == "X-Count, X-Empty")
            #expect(
                request.trailers.map { "\($0.name.rawValue):\($0.value)" } == [
                    "X-Count:\(content.count)", "X-Empty:", "x-count:again",
                ])
        }
        #expect(server.counts.accepted == 1)
        // None is left over for others.
        _ = try await client.put("/", body: .text("hello")).string()
        #expect(server.requests.last?.trailers.isEmpty == true)
        #expect(server.requests.last?.headers[.contentLength] == "5")
    }

    @Test("What cannot be sent breaks the request off", arguments: [false, true])
    func broken(isInjection: Bool) async throws {
        server.route("/", .ok(text: "x"))
        let body = RequestBody.text("abc").followed(by: ["X-A"]) {
            isInjection ? ["X-A": "1\r\n\r\nGET / HTTP/1.1"] : ["X-B": "1"]
        }
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: body).string()
        }
        #expect(error?.code == .invalidRequest)
        try await server.wait { $0.open == 0 }
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test("A connection that died while it was idle costs none, and they are made anew")
    func keepAliveRace() async throws {
        let made = Mutex(0)
        server.route("/first", .ok(text: "x").thenClose())
        server.route("/second", .echo)
        for count in 1...20 {
            let body = RequestBody.text("hello").followed(by: ["X-Send"]) {
                [
                    "X-Send": String(
                        made.withLock {
                            $0 += 1; return $0
                        })
                ]
            }
            #expect(try await client.get("first").string() == "x")
            let before = made.withLock { $0 }
            let call = client.put("second", body: body)
            #expect(try await call.deadline(.seconds(10)).json()["body"] == "hello")
            #expect(server.requests(to: "/second").count == count)
            let sent = server.requests(to: "/second").last?.trailers["X-Send"].flatMap { Int($0) }
            // The connection that died may have them made too, before or after.
            let possible = before + 1...max(made.withLock { $0 }, before + 1)
            #expect(possible.contains(try #require(sent)))
        }
    }

    @Test("A request that died with its connection is sent again with them, or not at all")
    func replay() async throws {
        server.route("/ok", .ok(text: "x"))
        server.route("/again", .close, .echo)
        let made = Mutex(0)
        let body = RequestBody.text("hello").followed(by: ["X-Send"]) {
            [
                "X-Send": String(
                    made.withLock {
                        $0 += 1; return $0
                    })
            ]
        }
        #expect(try await client.get("ok").string() == "x")
        #expect(try await client.put("again", body: body).json()["body"] == "hello")
        #expect(
            server.requests(to: "/again").map(\.trailers) == [["X-Send": "1"], ["X-Send": "2"]])
        server.route("/once", .close, .echo)
        #expect(try await client.get("ok").string() == "x")
        let error = await #expect(throws: ClientError.self) {
            try await client.post("once", body: body).json()
        }
        #expect(error?.code == .connection)
        #expect(server.requests(to: "/once").count == 1)
    }
}
