// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore
import TurnpikeCurl
import TurnpikeMiddleware
import TurnpikeTesting

@testable import TurnpikeWebSocket

@Suite("A WebSocket over libcurl", .timeLimit(.minutes(2)))
struct CurlSocketTests {
    // Returns each short message of the client as it was, and answers its close.
    private static func echo(_ peer: TestPeer) {
        var bytes = Data()
        while true {
            while bytes.count < 6 || bytes.count < 6 + Int(bytes[1] & 0x7F) {
                guard let more = peer.read() else { return }
                bytes = Data(bytes + more)
            }
            let count = Int(bytes[1] & 0x7F)
            let mask = bytes[2..<6]
            let content = Data(bytes[6..<(6 + count)].enumerated().map { $1 ^ mask[2 + $0 % 4] })
            peer.write(RawFrame(bytes[0], content).bytes)
            if bytes[0] == 0x88 { return }
            bytes = Data(bytes.dropFirst(6 + count))
        }
    }

    private static let answer = TestAnswer.handler { request in
        .upgrade(
            to: "websocket",
            headers: [
                "Sec-WebSocket-Accept": Handshake.accept(
                    for: request.headers["Sec-WebSocket-Key"] ?? "")
            ], first: RawFrame(0x81, "welcome").bytes, echo)
    }

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
