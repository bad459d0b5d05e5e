// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeInspection
import TurnpikeMiddleware
import TurnpikeSerializers
import TurnpikeTesting

@testable import TurnpikeWebSocket

@Suite("A WebSocket and the gates of its client", .timeLimit(.minutes(1)))
struct SocketGatesTests {
    private static let limits = Stack([
        .deadline(.seconds(10)), .retry(attempts: 2), .attemptTimeout(.seconds(5)),
        .idleTimeout(.seconds(5)), .validate(),
    ])

    /// A server that answers after a delay, and returns each message.
    private func client(
        _ stack: Stack, _ clock: ManualClock, after delay: Duration = .zero
    ) -> Client {
        let transport = MockTransport(capabilities: .upgrades) { request in
            MockResponse.upgrade(to: "websocket", headers: accepting(request)) { connection in
                let peer = Peer(connection)
                while let frame = try? await peer.next() {
                    try? await peer.send(frame)
                    if frame.first == 0x88 { return }
                }
            }.delayed(by: delay)
        }
        return Client(
            transport: transport, stack: stack, serializers: .standard, timeSource: clock)
    }

    @Test("A handshake follows a redirect to another origin, without what may be a secret")
    func redirect() async throws {
        let transport = MockTransport(capabilities: .upgrades) { request in
            if request.url.host() == "a.example" {
                return .status(301, headers: ["Location": "https://b.example/feed"])
            }
            guard request.headers["Sec-WebSocket-Version"] == "13" else { return .status(426) }
            return .upgrade(to: "websocket", headers: accepting(request)) { _ in }
        }
        let client = Client(transport, [.redirect()])
        let call = client.get("http://a.example/").header("Origin", "https://c.example")
        _ = try await call.webSocket(protocols: ["token-of-a"])
        let last = try #require(transport.sent.last?.request)
        #expect(transport.sentCount == 2 && last.url.absoluteString == "https://b.example/feed")
        #expect(last.headers["Sec-WebSocket-Protocol"] == nil && last.headers["Origin"] == nil)
    }

    @Test(
        "Time limits bound the handshake, and a socket lives on behind them",
        arguments: [Self.limits, Stack.standard])
    func timeLimits(stack: Stack) async throws {
        let clock = ManualClock()
        let client = client(stack, clock)
        let socket = try await client.get("https://a.example/").deadline(.seconds(10)).webSocket()
        for _ in 0..<3 {
            clock.advance(by: .seconds(86_400))
            try await socket.send(.text("still here"))
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("still here"))
        }
        #expect(clock.timerCount == 0)
        try await socket.close()

        let late = self.client(stack, clock, after: .seconds(3600))
        let opening = Task {
            try await late.get("https://a.example/").deadline(.seconds(10)).webSocket()
        }
        try await clock.waitForTimer(in: .seconds(10))
        clock.advance(by: .seconds(10))
        await expectError(.deadlineExceeded) { try await opening.value }
    }

    @Test("The handshake is explained: limits up to the head, and what the transport must have")
    func explained() {
        var request = Request(.get, "https://a.example/")
        request.options.isStreaming = true
        request.options.upgrade = "websocket"
        let able = MockTransport(capabilities: .upgrades) { _ in .ok() }
        let unable = MockTransport(capabilities: []) { _ in .ok() }
        let explanation = Self.limits.explain(request, on: able)
        #expect(explanation.fault == nil)
        #expect(explanation.description.contains("ends the call after 10 s, up to its head"))
        #expect(
            Self.limits.explain(request, on: unable).fault
                == "the request needs upgrades, which the transport does not support")
        #expect(Stack.standard.lint(for: able).isEmpty)
    }

    @Test("A trace shows the messages in bounded buckets, and ends with the connection")
    func traced() async throws {
        let clock = ManualClock()
        let client = client(Self.limits, clock)
        let call = client.get("https://a.example/prices").traced()
        let socket = try await call.webSocket()
        var messages = socket.messages.makeAsyncIterator()
        for _ in 0..<1000 {
            clock.advance(by: .seconds(1))
            try await socket.send(.text("a price"))
            _ = try await messages.next()
        }
        let running = try #require(call.trace)
        #expect(!running.isComplete && running.spans[0].duration == nil)
        clock.advance(by: .seconds(1))
        try await socket.close()
        let trace = try #require(call.trace)
        let waterfall = trace.waterfall(width: 100, color: false)
        #expect(trace.isComplete && waterfall.contains("101"), "\(waterfall)")
        #expect(trace.spans[0].duration == .seconds(1001), "\(waterfall)")
        let exchange = try #require(trace.spans.lazy.compactMap(\.exchange).first)
        #expect(exchange.bytesSent == 7000 && exchange.bytesReceived == 7000)
        #expect(exchange.chunks.reduce(0) { $0 + $1.count } == 1000)
        #expect(exchange.chunks.count < 200 && exchange.chunks.last?.end == .seconds(1000))
    }

    @Test("A handshake whose answer is refused ends its trace")
    func refusedTrace() async throws {
        let transport = MockTransport(capabilities: .upgrades) { _ in
            MockResponse.upgrade(to: "websocket", headers: [:]) { _ in }
        }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        let call = client.get("https://a.example/").traced()
        await expectError(.protocol) { try await call.webSocket() }
        #expect(call.trace?.isComplete == true)
    }
}
