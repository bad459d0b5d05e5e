// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

@testable import TurnpikeWebSocket

/// Lines in the order in which they were added.
final class Log: Sendable {
    private let kept = Mutex<[String]>([])
    var lines: [String] { kept.withLock { $0 } }
    func add(_ line: String) { kept.withLock { $0.append(line) } }
}

/// The fields of a right answer to a handshake.
func accepting(_ request: Request, _ headers: HTTPHeaders = [:]) -> HTTPHeaders {
    var headers = headers
    headers.append(
        "Sec-WebSocket-Accept", Handshake.accept(for: request.headers["Sec-WebSocket-Key"] ?? ""))
    return headers
}

@Suite("A WebSocket that reconnects", .timeLimit(.minutes(2)))
struct ReconnectingTests {
    private static let retry = Retry(
        attempts: 3, backoff: Backoff(base: .seconds(2), jitter: .none))

    /// What the server does with each connection.
    private enum Turn: Sendable {
        case refuse(HTTPStatus)
        case send(String, thenClose: UInt16?)
    }

    private func client(
        _ turns: [Turn], _ log: Log, _ clock: ManualClock
    ) -> Client {
        let next = Mutex(0)
        let transport = MockTransport { request in
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            log.add("connect")
            switch turns[index] {
            case .refuse(let status): return .status(status)
            case .send(let text, let code):
                return .upgrade(to: "websocket", headers: accepting(request)) { connection in
                    let peer = Peer(connection)
                    guard let frame = try? await peer.next() else { return }
                    log.add(String(decoding: frame.content, as: UTF8.self))
                    try? await peer.send(RawFrame(0x81, text))
                    if let code { try? await peer.send(.close(code)) }
                }
            }
        }
        return Client(
            transport: transport, stack: [], serializers: SerializerTable(), timeSource: clock)
    }

    @Test(
        "A lost socket is opened again after the back-off, the gap is told, and only the closure sends"
    )
    func reconnects() async throws {
        let (log, clock) = (Log(), ManualClock())
        let client = client(
            [
                .send("one", thenClose: nil), .refuse(503), .send("two", thenClose: 1012),
                .send("three", thenClose: 1000),
            ], log, clock)
        let events = client.get("ws://a.example/").reconnectingWebSocket(retry: Self.retry) {
            try await $0.send(.text("subscribe"))
        }
        let running = Task {
            var seen: [String] = []
            for try await event in events {
                switch event {
                case .connected: seen.append("connected")
                case .reconnected(_, let gap): seen.append("after \(gap)")
                case .message(.text(let text)): seen.append(text)
                case .message: seen.append("?")
                }
            }
            return seen
        }
        // Lost, then refused with 503, whose base is the same.
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        try await clock.waitForTimer(in: .seconds(4))
        clock.advance(by: .seconds(4))
        // A message has come: the back-off begins anew.
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        let seen = try await running.value
        #expect(
            seen == [
                "connected", "one", "after 6.0 seconds", "two", "after 2.0 seconds", "three",
            ])
        #expect(
            log.lines == [
                "connect", "subscribe", "connect", "connect", "subscribe", "connect", "subscribe",
            ])
    }

    @Test("What a retry does not repeat ends the sequence", arguments: [4001, 1008] as [UInt16])
    func ends(code: UInt16) async throws {
        let (log, clock) = (Log(), ManualClock())
        let client = client([.send("one", thenClose: code)], log, clock)
        let events = client.get("ws://a.example/").reconnectingWebSocket(retry: Self.retry) {
            try await $0.send(.text("subscribe"))
        }
        var count = 0
        let error = await #expect(throws: ClientError.self) {
            for try await _ in events { count += 1 }
        }
        #expect(error?.code == .webSocketClosed && count == 2)
        #expect((error?.attachment as? WebSocket.Closure)?.code?.rawValue == code)
    }

    @Test("A socket that is closed before the closure has sent ends as the server closed it")
    func closedBeforeSubscription() async throws {
        let (log, clock) = (Log(), ManualClock())
        let transport = MockTransport { request in
            log.add("connect")
            return .upgrade(to: "websocket", headers: accepting(request)) { connection in
                let peer = Peer(connection)
                // Lost, then restarted, then at its end, each before the closure sends.
                if log.lines.count == 1 { return }
                try? await peer.send(
                    RawFrame(0x81, "hello"), .close(log.lines.count == 2 ? 1012 : 1000))
                _ = try? await peer.next()
            }
        }
        let client = Client(
            transport: transport, stack: [], serializers: SerializerTable(), timeSource: clock)
        let events = client.get("ws://a.example/").reconnectingWebSocket(retry: Self.retry) {
            socket in
            try await until("the socket is closed") { !socket.core.isOpen }
            try await socket.send(.text("subscribe"))
        }
        let running = Task {
            var messages: [WebSocket.Message] = []
            for try await case .message(let message) in events { messages.append(message) }
            return messages
        }
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(2))
            clock.advance(by: .seconds(2))
        }
        #expect(try await running.value == [.text("hello"), .text("hello")])
        #expect(log.lines.count == 3)
    }

    @Test("A closure that hangs ends with its socket, and with the client")
    func hangingSubscription() async throws {
        let (log, clock) = (Log(), ManualClock())
        let client = client(
            [.send("one", thenClose: 1012), .send("two", thenClose: nil)], log, clock)
        let events = client.get("ws://a.example/").reconnectingWebSocket(retry: Self.retry) {
            // The second server waits for this message, and the first one closes.
            if log.lines.count == 1 { try await $0.send(.text("subscribe")) }
            log.add("hangs")
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in stream {}
            continuation.finish()
        }
        let running = Task { for try await _ in events {} }
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        try await until("the second closure") { log.lines.count { $0 == "hangs" } == 2 }
        await client.shutdown()
        await expectError(.cancelled) { try await running.value }
        #expect(log.lines.count { $0 == "connect" } == 2)
    }

    @Test("The gap begins when the socket is lost, and not when the reader notices")
    func lateReader() async throws {
        let (log, clock) = (Log(), ManualClock())
        let client = client(
            [.send("one", thenClose: 1012), .send("two", thenClose: nil)], log, clock)
        let events = client.get("ws://a.example/").reconnectingWebSocket(retry: Self.retry) {
            try await $0.send(.text("subscribe"))
        }
        let running = Task {
            for try await event in events {
                switch event {
                case .connected(let socket):
                    try await until("the socket is closed") { !socket.core.isOpen }
                    clock.advance(by: .seconds(100))
                case .reconnected(_, let gap): return gap
                case .message: break
                }
            }
            return .zero
        }
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        #expect(try await running.value == .seconds(102))
    }

    @Test("Failures without a message in between end the sequence after the attempts")
    func attempts() async throws {
        let (log, clock) = (Log(), ManualClock())
        let client = client([.refuse(503), .refuse(503), .refuse(503)], log, clock)
        let running = Task {
            for try await _ in client.get("ws://a.example/").reconnectingWebSocket(
                retry: Self.retry)
            {}
        }
        for seconds in [2, 4] {
            try await clock.waitForTimer(in: .seconds(seconds))
            clock.advance(by: .seconds(seconds))
        }
        await expectError(.validation) { try await running.value }
        #expect(log.lines.count == 3)
    }
}
