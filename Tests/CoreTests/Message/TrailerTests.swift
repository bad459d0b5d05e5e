// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Trailer fields")
struct TrailerTests {
    private let trailers: HTTPHeaders = ["X-Sum": "1", "Set-Cookie": "a=1", "ETag": "\"a\""]

    private func response(_ answer: MockResponse, _ stack: Stack = []) async throws -> Response {
        let transport = MockTransport { _ in answer.followed(by: trailers) }
        return try await Client(transport: transport, stack: stack, serializers: SerializerTable())
            .get("http://a.example/").response()
    }

    @Test(
        "They are available after the last byte, without forbidden fields",
        arguments: [
            MockResponse.ok(text: "abc"), .stream([Data("a".utf8), Data("bc".utf8)]), .ok(),
        ]
    )
    func end(answer: MockResponse) async throws {
        let response = try await response(answer)
        let head = response.headers
        // Without content there is nothing to read before them.
        #expect(response.trailers.isEmpty != response.body.isEmpty)
        _ = try await response.body.collect(upTo: 10)
        #expect(response.trailers == ["X-Sum": "1", "ETag": "\"a\""])
        #expect(response.trailers == response.body.trailers)
        #expect(response.headers == head)
    }

    @Test("A body that breaks off or is dropped has none")
    func broken() async throws {
        let cut = try await response(
            .stream([Data("a".utf8)], thenThrow: ClientError(.incomplete, "cut")))
        await expectError(.incomplete) { try await cut.body.collect(upTo: 10) }
        #expect(cut.trailers.isEmpty)
        let left = try await response(.ok(text: "abc"))
        left.body.cancel()
        #expect(left.trailers.isEmpty)
    }

    @Test("A response to HEAD or without content has none")
    func bodiless() async throws {
        let response = try await response(.status(204))
        _ = try await response.body.collect(upTo: 10)
        #expect(response.trailers.isEmpty)
    }

    @Test("A body that is changed, peeked at or put together keeps them")
    func wrapped() async throws {
        var peeked = try await response(.stream([Data("ab".utf8), Data("cd".utf8)]))
        #expect(try await peeked.body.peek(upTo: 1) == Data("ab".utf8))
        let body = peeked.body
        let atEnd = Mutex(HTTPHeaders())
        let changed = body.transforming {
            Data($0.reversed())
        } finish: {
            atEnd.withLock { $0 = body.trailers }
            return Data("!".utf8)
        }
        #expect(try await changed.collect(upTo: 10) == Data("badc!".utf8))
        #expect(changed.trailers["X-Sum"] == "1")
        #expect(atEnd.withLock { $0["X-Sum"] } == "1", "who changes a body can check them")
    }

    @Test("An exchange keeps those that arrived before its end")
    func exchange() async throws {
        let clock = ManualClock()
        let client = Client(
            transport: Late(), stack: [], serializers: SerializerTable(), timeSource: clock)
        let response = try await client.get("http://a.example/").response()
        _ = try await response.body.collect(upTo: 10)
        #expect(response.trailers == ["X-A": "1"])
    }

    private struct Late: Transport {
        let capabilities: TransportCapabilities = [.trailers]

        func send(_ request: Request, context: Context) async throws -> Response {
            let exchange = Exchange(context: context) { _ in }
            exchange.receive(trailers: ["X-A": "1"])
            exchange.receive(
                Exchange.Head(ResponseHead(status: .ok, url: request.url)),
                with: Data("x".utf8), isComplete: true)
            exchange.receive(trailers: ["X-B": "1"])
            return try await exchange.response()
        }

        func shutdown() async {}
    }
}
