// SPDX-License-Identifier: Apache-2.0

import CCurlSocketPeer
import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeWebSocket

/// The load of `bench sockets`: a client sends a batch of messages on each socket, waits until the
/// batch has come back, and sends the next one.
enum SocketLoad: String, CaseIterable {
    case roundTrip, many

    var sockets: Int { self == .roundTrip ? 1 : 64 }
    var batch: Int { self == .roundTrip ? 1 : 16 }
    var bytes: Int { self == .roundTrip ? 125 : 64 }
}

/// The measurements of a client, which it prints as a line of JSON.
struct SocketSample: Codable {
    let messages: Double
    let seconds: Double
    /// The CPU time of the client's process (user and system).
    let cpuSeconds: Double
}

/// A client of `bench sockets`, in its own process.
enum SocketClient {
    static let subcommand = "socket-client"

    /// Runs the client.
    ///
    /// The arguments are its name, the load, the port and the seconds.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 4, let load = SocketLoad(rawValue: arguments[1]),
            let seconds = Double(arguments[3])
        else { throw BenchError("\(subcommand) needs four arguments") }
        let url = "http://127.0.0.1:\(arguments[2])/"
        let before = Usage.cpuSeconds
        var elapsed = 0.0
        let messages =
            arguments[0] == "curl"
            ? curl(load, url, seconds, &elapsed)
            : try await turnpike(
                load, url, seconds, onExecutor: arguments[0] == "executor", &elapsed)
        guard messages >= 0 else { throw BenchError("the loop in C failed") }
        let sample = SocketSample(
            messages: Double(messages), seconds: elapsed, cpuSeconds: Usage.cpuSeconds - before)
        print(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
    }

    private static func curl(
        _ load: SocketLoad, _ url: String, _ seconds: Double, _ elapsed: inout Double
    ) -> Int {
        let handshake =
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        return curl_socket_peer_run(
            url, handshake, CInt(load.sockets), CInt(load.batch), CInt(load.bytes), seconds,
            &elapsed)
    }

    private static func turnpike(
        _ load: SocketLoad, _ url: String, _ seconds: Double, onExecutor: Bool,
        _ elapsed: inout Double
    ) async throws -> Int {
        let client = Client(transport: try CurlTransport(), stack: .standard)
        var sockets: [WebSocket] = []
        for _ in 0..<load.sockets {
            sockets.append(
                try await client.webSocket(
                    url, options: WebSocket.Options(compression: .none)))
        }
        let message = WebSocket.Message.text(String(repeating: "x", count: load.bytes))
        let begun = ContinuousClock.now
        let end = begun + .seconds(seconds)
        let messages = try await withThrowingTaskGroup(of: Int.self) { group in
            for socket in sockets {
                group.addTask(executorPreference: onExecutor ? socket.executor : nil) {
                    var count = 0
                    var messages = socket.messages.makeAsyncIterator()
                    while ContinuousClock.now < end {
                        for _ in 0..<load.batch { try await socket.send(message) }
                        for _ in 0..<load.batch {
                            guard try await messages.next() == message else {
                                throw BenchError("another message came back")
                            }
                        }
                        count += load.batch
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        elapsed = (ContinuousClock.now - begun) / .seconds(1)
        await client.shutdown()
        return messages
    }

    /// The same client in Python with `websockets`.
    ///
    /// Its arguments: the port, the load, the seconds.
    static let python = """
        import asyncio, json, resource, sys, time
        from websockets.asyncio.client import connect
        port, sockets, batch, size, seconds = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
        def cpu():
            usage = resource.getrusage(resource.RUSAGE_SELF)
            return usage.ru_utime + usage.ru_stime
        async def talk(socket, end):
            count, message = 0, "x" * size
            while time.monotonic() < end:
                for _ in range(batch): await socket.send(message)
                for _ in range(batch): assert await socket.recv() == message
                count += batch
            return count
        async def main():
            before = cpu()
            opened = [await connect(f"ws://127.0.0.1:{port}/", compression=None) for _ in range(sockets)]
            begun = time.monotonic()
            counts = await asyncio.gather(*(talk(socket, begun + seconds) for socket in opened))
            elapsed = time.monotonic() - begun
            print(json.dumps({"messages": sum(counts), "seconds": elapsed, "cpuSeconds": cpu() - before}), flush=True)
        asyncio.run(main())
        """
}
