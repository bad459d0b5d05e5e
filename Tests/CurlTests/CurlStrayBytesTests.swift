// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeCurl

@testable import TurnpikeTesting

@Suite("Bytes that a server sends without a request")
struct CurlStrayBytesTests {
    private static func response(_ text: String) -> Data {
        Data("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8)
    }

    @Test(
        "Bytes on idle connections are not the response to the next request, and ended ones not used",
        .timeLimit(.minutes(1)), arguments: [1, 12], [false, true])
    func idle(count: Int, isEnded: Bool) async throws {
        let fixture = try CurlFixture()
        let (hold, start) = (TestHold(), TestHold())
        let (written, continuation) = AsyncStream.makeStream(of: Void.self)
        fixture.server.route(
            "/first",
            TestAnswer { _ in
                [
                    .hold(start), .write(Self.response("first")), .hold(hold),
                    .write(isEnded ? Data() : Self.response("stray")),
                    .serve { peer, _ in
                        continuation.yield()
                        while !isEnded, peer.read() != nil {}
                    },
                ]
            })
        fixture.server.route("/second", .ok(text: "second"))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.client.get("/first").string() } }
            try await fixture.server.waitForRequests(count)
            start.open()
            for try await text in group { #expect(text == "first") }
        }
        hold.open()
        var writes = written.makeAsyncIterator()
        for _ in 0..<count { await writes.next() }
        if isEnded { try await fixture.server.wait { $0.open == 0 } }
        let second = try await fixture.client.post("/second").string()
        #expect(second == "second")
        #expect(fixture.server.requests.last?.target == "/second")
        #expect(fixture.server.requests.count == count + 1)
    }
}
