// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeSupport

@testable import TurnpikeWebSocket

private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

/// A loopback socket that blocks threads of its own.
private final class LoopbackChannel: UpgradedChannel {
    private let descriptor: Int32

    init(port: UInt16) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code != 0 { throw ClientError(.connection, "nothing listens on port \(port)") }
    }

    deinit { closeDescriptor(descriptor) }

    func read(upTo maxBytes: Int) async throws -> Data? {
        await Blocking.run { [self] in
            var bytes = Data(count: maxBytes)
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, maxBytes, 0)
            }
            return count > 0 ? bytes.prefix(count) : nil
        }
    }

    func write(_ bytes: Data) async throws {
        let isWritten = await Blocking.run { [self] in
            var rest = bytes
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count <= 0 { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        if !isWritten { throw ClientError(.connection, "the server has closed the connection") }
    }

    func finishWriting() async throws { shutdown(descriptor, Int32(SHUT_WR)) }

    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Upgrades connections to a port of this machine.
struct LoopbackTransport: Transport {
    let port: UInt16
    var capabilities: TransportCapabilities { .upgrades }

    func send(_ request: Request, context: Context) async throws -> Response {
        let channel = try LoopbackChannel(port: port)
        var head = "GET \(request.targetURI.originForm) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        head += "Connection: Upgrade\r\nUpgrade: \(request.options.upgrade ?? "")\r\n"
        for field in request.headers { head += "\(field.name): \(field.value)\r\n" }
        try await channel.write(Data((head + "\r\n").utf8))
        var answer = ""
        while !answer.hasSuffix("\r\n\r\n"), let byte = try await channel.read(upTo: 1) {
            answer += String(decoding: byte, as: UTF8.self)
        }
        var headers = HTTPHeaders()
        let lines = answer.split(separator: "\r\n")
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[HTTPHeaders.Name(String(parts[0]))] = parts[1].trimmingCharacters(
                in: .whitespaces)
        }
        let isSwitched = lines.first?.contains(" 101 ") == true
        var response = Response(to: request, status: isSwitched ? 101 : 400, headers: headers)
        if isSwitched {
            response.upgradedConnection = UpgradedConnection(channel, protocolName: "websocket")
        }
        return response
    }

    func shutdown() async {}
}

@Suite("A WebSocket with a server in Python", .timeLimit(.minutes(2)))
struct PythonServerTests {
    private static let python =
        ProcessInfo.processInfo.environment["TURNPIKE_WEBSOCKETS_PYTHON"] ?? "python3"

    private static let program = """
        import asyncio
        from websockets.asyncio.server import serve
        async def echo(socket):
            async for message in socket:
                if message == "close": await socket.close(4000, "as you wish")
                else: await socket.send(message)
        async def main():
            async with serve(echo, "127.0.0.1", 0, max_size=2**24) as server:
                print(server.sockets[0].getsockname()[1], flush=True)
                await server.serve_forever()
        asyncio.run(main())
        """

    @Test(
        "Messages of all sizes come back, compressed or not, and both sides close",
        .needs(
            "the Python package websockets",
            if: output(of: PythonServerTests.python, "-c", "import websockets.asyncio.server")
                != nil),
        arguments: [WebSocket.Compression.none, .receiving, .both])
    func echoes(compression: WebSocket.Compression) async throws {
        let server = try ChildProcess(
            Self.python, ["-c", Self.program], output: .pipe, errors: .null)
        let line = await Blocking.run { server.readLine() }
        let port = try #require(line.flatMap { UInt16($0) })
        let client = Client(
            transport: LoopbackTransport(port: port), stack: [], serializers: SerializerTable())
        let options = WebSocket.Options(compression: compression)
        let socket = try await client.webSocket("ws://127.0.0.1:\(port)/", options: options)
        let isDeflated = socket.head.headers["Sec-WebSocket-Extensions"] != nil
        #expect(isDeflated == (compression != .none))
        var messages = socket.messages.makeAsyncIterator()
        for size in [0, 1, 125, 126, 65_535, 65_536, 1_048_576] {
            let text =
                String(repeating: "aé€😀 ", count: size / 11)
                + String(repeating: "x", count: size % 11)
            try await socket.send(.text(text))
            #expect(try await messages.next() == .text(text))
            var generator = SeededGenerator(seed: 7)
            let bytes = Data((0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
            try await socket.send(.binary(bytes))
            #expect(try await messages.next() == .binary(bytes))
        }
        try await socket.send(text: stream(["a", "", "b"]))
        #expect(try await messages.next() == .text("ab"))
        try await socket.close(.normal, reason: "done")
        #expect(socket.closure?.code == .normal)

        let other = try await client.webSocket("ws://127.0.0.1:\(port)/", options: options)
        try await other.send(.text("close"))
        let error = await #expect(throws: ClientError.self) {
            for try await message in other.messages { Issue.record("\(message)") }
        }
        #expect(error?.code == .webSocketClosed && other.closure?.reason == "as you wish")
        try await other.close()
        try await until("the calls end") { client.runningCallCount == 0 }
        server.kill()
    }
}
