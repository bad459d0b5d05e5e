// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeSupport
import TurnpikeTesting

@Suite("Live bodies over async-http-client", .timeLimit(.minutes(2)))
struct LiveUploadTests {
    /// A body that returns one chunk, waits, and reports the end.
    private struct Source {
        let body: RequestBody
        let ended = SharedValue<Void>()

        init() { body = .stream(live: true) { [ended] in Chunks(ended: ended) } }
    }

    private struct Chunks: AsyncSequence, Sendable {
        let ended: SharedValue<Void>

        func makeAsyncIterator() -> Iterator { Iterator(ended) }

        final class Iterator: AsyncIteratorProtocol {
            private let ended: SharedValue<Void>
            private var hasBegun = false

            init(_ ended: SharedValue<Void>) { self.ended = ended }

            deinit { ended.settle(.success(())) }

            func next() async throws -> Data? {
                if hasBegun {
                    let never = OneShot<Data?>()
                    return try await never.value {
                        never.settle(.failure(CancellationError()))
                    }
                }
                hasBegun = true
                return Data("first".utf8)
            }
        }
    }

    @Test("Cancelling the task ends a call whose body waits for more")
    func cancelled() async throws {
        try await withBridge { bridge in
            bridge.server.route("/", .ok(text: "x"))
            let source = Source()
            let call = Task { try await bridge.client.post("/", body: source.body).response() }
            try await bridge.server.wait { $0.open == 1 }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await source.ended.value()
        }
    }

    @Test("Letting go of an early answer ends the upload", arguments: [200, 413])
    func dropped(_ status: Int) async throws {
        try await withBridge { bridge in
            let answer = TestAnswer.status(HTTPStatus(status), body: Data("early".utf8))
            bridge.server.route("/", answer.withoutReading())
            bridge.server.route("/ok", .ok(text: "x"))
            let source = Source()
            do {
                let response = try await bridge.client.post(
                    "/", body: source.body, headers: ["Expect": "100-continue"]
                ).response()
                #expect(response.status.code == status)
            }
            try await source.ended.value()
            let content = try await bridge.content(bridge.client.get("ok"))
            #expect(content == Data("x".utf8))
        }
    }

    @Test("An early refusal is read to its end, and ends the upload")
    func refused() async throws {
        try await withBridge { bridge in
            let answer = TestAnswer.status(413, body: Data("early".utf8))
            bridge.server.route("/", answer.withoutReading())
            let source = Source()
            let call = bridge.client.post(
                "/", body: source.body, headers: ["Expect": "100-continue"])
            let content = try await bridge.content(call)
            #expect(content == Data("early".utf8))
            try await source.ended.value()
        }
    }

    @Test("An early refusal without content ends the call and the upload", arguments: [401, 413])
    func refusedAtHead(_ status: Int) async throws {
        try await withBridge { bridge in
            bridge.server.route("/", TestAnswer.status(HTTPStatus(status)).withoutReading())
            let source = Source()
            let response = try await bridge.client.post(
                "/", body: source.body, headers: ["Expect": "100-continue"]
            ).response()
            #expect(response.status.code == status)
            #expect(try await response.body.collect(upTo: 10).isEmpty)
            try await source.ended.value()
        }
    }
}
