// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeCurl
import TurnpikeMiddleware
import TurnpikeTesting

@testable import TurnpikeWebSocket

@Suite("A WebSocket over libcurl", .timeLimit(.minutes(2)))
struct CurlSocketTests {
    private static let answer = TestAnswer.webSocketEcho(first: RawFrame(0x81, "welcome").bytes)

    @Test("Messages go both ways, the first behind the head; the close is answered")
    func messages() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.route("/", Self.answer)
        let client = Client(
            baseURL: server.target, transport: try CurlTransport(),
            stack: [.validate()], serializers: SerializerTable())
        let socket = try await client.webSocket("/")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("welcome"))
        for number in 0..<200 {
            try await socket.send(.text("message \(number)"))
            #expect(try await messages.next() == .text("message \(number)"))
        }
        try await socket.close(.normal, reason: "done")
        #expect(try await messages.next() == nil)
        #expect(socket.closure?.code == .normal)
        await client.shutdown()
    }

    @Test("A server that goes away ends the messages with an error")
    func lost() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.route("/", Self.answer)
        let client = Client(
            baseURL: server.target, transport: try CurlTransport(),
            stack: [.validate()], serializers: SerializerTable())
        let socket = try await client.webSocket("/")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("welcome"))
        server.stop()
        do {
            _ = try await messages.next()
            Issue.record("a message came after the server had gone")
        } catch {
            #expect(error is ClientError)
        }
        await client.shutdown()
    }
}
