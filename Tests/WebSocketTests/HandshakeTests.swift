// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

@testable import TurnpikeWebSocket

@Suite("The handshake of a WebSocket", .timeLimit(.minutes(2)))
struct HandshakeTests {
    @Test("The answer to a key is that of RFC 6455 §1.3")
    func accept() {
        #expect(Handshake.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(Data(base64Encoded: Handshake.newKey())?.count == 16)
        #expect(Handshake.newKey() != Handshake.newKey())
    }

    @Test(
        "A ws URL is an http URL from the first gate on, and nothing else of it changes",
        arguments: [
            ("wss://a.example/x?y=1", "https://a.example/x?y=1"),
            ("WS://a.example:81", "http://a.example:81"),
            ("https://a.example/", "https://a.example/"),
        ])
    func scheme(text: String, expected: String) async throws {
        let seen = Log()
        let transport = MockTransport { request in
            seen.add(request.url.absoluteString)
            return .status(404)
        }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        await expectError(.validation) { _ = try await client.webSocket(text) }
        #expect(seen.lines == [expected])
    }

    @Test("Relative targets, protocols, header fields and messages pass through the client")
    func opened() async throws {
        let transport = MockTransport { request in
            .upgrade(
                to: "websocket",
                headers: accepting(request, ["Sec-WebSocket-Protocol": "v2"])
            ) { connection in
                let peer = Peer(connection)
                while let frame = try? await peer.next() {
                    try? await peer.send(frame)
                    if frame.first == 0x88 { return }
                }
            }
        }
        let client = Client(
            baseURL: "http://a.example/v1/", transport: transport,
            stack: [.validate(), .deadline(.seconds(10))], serializers: SerializerTable())
        let socket = try await client.webSocket(
            "feed", protocols: ["v3", "v2"], headers: ["Origin": "https://b.example"])
        #expect(socket.protocolName == "v2" && socket.head.status == 101)
        #expect(client.runningCallCount == 1)
        let sent = try #require(transport.sent.first?.request)
        #expect(sent.url.absoluteString == "http://a.example/v1/feed")
        #expect(sent.headers["Sec-WebSocket-Protocol"] == "v3, v2")
        #expect(sent.headers[.origin] == "https://b.example")
        #expect(sent.headers["Sec-WebSocket-Version"] == "13")
        #expect(sent.options.upgrade == "websocket")
        try await socket.send(.text("hello"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hello"))
        try await socket.close()
        try await until("the call ends") { client.runningCallCount == 0 }
    }

    @Test("Cancelling the client's calls ends a socket")
    func cancelled() async throws {
        let transport = MockTransport { request in
            .upgrade(to: "websocket", headers: accepting(request)) { connection in
                _ = try? await connection.read(upTo: 10)
            }
        }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let socket = try await client.webSocket("ws://a.example/")
        client.cancelAll()
        await expectError(.connection) {
            for try await message in socket.messages { Issue.record("\(message)") }
        }
    }

    /// A wrong answer.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var name = "websocket"
        var headers: HTTPHeaders = [:]
        var accept: String?
    }

    @Test(
        "A wrong answer is refused, and its connection closed",
        arguments: [
            Refusal(testDescription: "another key", accept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            Refusal(
                testDescription: "a second key",
                headers: ["Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]),
            Refusal(testDescription: "another protocol", name: "h2c"),
            Refusal(
                testDescription: "a protocol not offered", headers: ["Sec-WebSocket-Protocol": "x"]),
            Refusal(testDescription: "an extension", headers: ["Sec-WebSocket-Extensions": "x"]),
            Refusal(
                testDescription: "an extension in a second line",
                headers: [
                    "Sec-WebSocket-Extensions": "permessage-deflate",
                    "sec-websocket-extensions": "x",
                ]),
            Refusal(
                testDescription: "a window of 8 bits",
                headers: [
                    "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits=8"
                ]),
        ])
    func refused(refusal: Refusal) async throws {
        let ended = Log()
        let transport = MockTransport { request in
            var headers = accepting(request, refusal.headers)
            if let accept = refusal.accept { headers["Sec-WebSocket-Accept"] = accept }
            return .upgrade(to: refusal.name, headers: headers) { connection in
                let bytes = try? await connection.read(upTo: 10)
                ended.add(bytes == nil ? "nothing" : "bytes")
            }
        }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.webSocket("ws://a.example/")
        }
        #expect(error?.code == .protocol && error?.response?.status == 101)
        try await until("the connection ends") { ended.lines == ["nothing"] }
    }

    @Test("An answer without a switch is judged by its status, and retried like any other")
    func retried() async throws {
        let statuses: [HTTPStatus] = [503, 200]
        let count = Log()
        let transport = MockTransport { _ in
            count.add("")
            return .status(statuses[count.lines.count - 1])
        }
        let client = Client(
            transport: transport,
            stack: [.retry(backoff: Backoff(base: .zero, jitter: .none)), .validate()],
            serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.webSocket("ws://a.example/")
        }
        #expect(error?.code == .validation && error?.response?.status == 200)
        #expect(count.lines.count == 2)
    }

    @Test("A transport that cannot upgrade is named before anything is sent")
    func unsupported() async throws {
        let transport = MockTransport(capabilities: []) { _ in .status(200) }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        await expectError(.unsupported) { _ = try await client.webSocket("ws://a.example/") }
        #expect(transport.sentCount == 0)
    }
}
