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
        "Bytes on an idle connection are not the response to the next request",
        .timeLimit(.minutes(1)))
    func idle() async throws {
        let fixture = try CurlFixture()
        let hold = TestHold()
        let (written, continuation) = AsyncStream.makeStream(of: Void.self)
        fixture.server.route(
            "/first",
            TestAnswer { _ in
                [
                    .write(Self.response("first")), .hold(hold), .write(Self.response("stray")),
                    .serve { peer in
                        continuation.finish()
                        while peer.read() != nil {}
                    },
                ]
            })
        fixture.server.route("/second", .ok(text: "second"))
        #expect(try await fixture.client.get("/first").string() == "first")
        hold.open()
        for await _ in written {}
        let second = try await fixture.client.post("/second").string()
        #expect(second == "second")
        #expect(fixture.server.requests.map(\.target) == ["/first", "/second"])
    }
}
