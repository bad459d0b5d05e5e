// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Live bodies that are given up, over libcurl")
struct CurlLiveUploadTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    /// A body that has yielded something and then waits, and whose end is told of.
    private func body(_ content: AsyncStream<Data>) -> RequestBody {
        .stream(live: true) { content }
    }

    @Test("Cancelling the task ends a call whose body waits for more", .timeLimit(.minutes(1)))
    func task() async throws {
        let content = AsyncStream.makeStream(of: Data.self)
        let ended = SharedValue<Void>()
        content.continuation.onTermination = { _ in ended.settle(.success(())) }
        server.route("/", .ok(text: "x"))
        let call = Task { try await client.post("/", body: body(content.stream)).data() }
        content.continuation.yield(Data("first".utf8))
        try await server.wait { $0.open == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await ended.value()
    }

    @Test("Letting go of the answer ends it too", .timeLimit(.minutes(1)))
    func answer() async throws {
        let ended = SharedValue<Void>()
        server.route("/", .handler { _ in .ok(text: "early") }.withoutReading())
        server.route("/ok", .ok(text: "x"))
        // The answer may come before anybody reads the content; it ends all the same, since nobody has it.
        func post() async throws {
            let content = AsyncStream.makeStream(of: Data.self)
            content.continuation.onTermination = { _ in ended.settle(.success(())) }
            content.continuation.yield(Data("first".utf8))
            let response = try await client.post(
                "/", body: body(content.stream), headers: ["Expect": "100-continue"]
            ).response()
            #expect(response.status == .ok)
        }
        try await post()
        try await ended.value()
        #expect(try await client.get("ok").string() == "x")
    }
}
