// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeSupport
import TurnpikeTesting

/// SwiftNIO traps in debug builds if a promise is dropped.
///
/// These tests therefore pass if they return.
@Suite("Uploads that the server does not take", .timeLimit(.minutes(2)))
struct BlockedUploadTests {
    /// Reports that a connection accepts no more bytes.
    private final class Observer: ChannelInboundHandler, Sendable {
        typealias InboundIn = NIOAny

        private let filled: SharedValue<Void>

        init(_ filled: SharedValue<Void>) { self.filled = filled }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if !context.channel.isWritable { filled.settle(.success(())) }
            context.fireChannelWritabilityChanged()
        }
    }

    private func withBlocked(
        _ answer: TestAnswer,
        _ body: (BridgeFixture, Task<Response, any Error>) async throws -> Void
    ) async throws {
        let filled = SharedValue<Void>()
        var configuration = HTTPClient.Configuration()
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.pipeline.addHandler(Observer(filled))
        }
        try await withBridge(configuration) { bridge in
            bridge.server.route("/", answer.withoutReading())
            bridge.server.route("/ok", .ok(text: "x"))
            let content = RequestBody.data(Data(count: 1 << 23))
            let call = Task { try await bridge.client.post("/", body: content).response() }
            try await filled.value()
            // During this call, a faulty upload would write a second piece.
            #expect(try await bridge.content(bridge.client.get("ok")) == Data("x".utf8))
            try await body(bridge, call)
            #expect(try await bridge.content(bridge.client.get("ok")) == Data("x".utf8))
        }
    }

    @Test("Cancelling one ends it")
    func cancelled() async throws {
        try await withBlocked(.silence) { bridge, call in
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await bridge.server.wait { $0.abandoned == 1 }
        }
    }

    @Test("A reset of the connection ends it")
    func reset() async throws {
        let hold = TestHold()
        try await withBlocked(TestAnswer.reset.held(by: hold)) { _, call in
            hold.open()
            let error = try await failure { _ = try await call.value }
            #expect(error.code == .connection)
            #expect(error.transfer?.phase == .sending)
        }
    }
}
