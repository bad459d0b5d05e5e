// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeTesting
import TurnpikeWebSocket

/// Echoes in order, a server that stands still, closes within messages, cancellations, and the death of the server.
struct SocketRun {
    var sockets = 100
    var echoes = 200
    var cancels = 1000
    /// For how many seconds the server is stopped.
    var stop = 0.5
    /// The largest message, as a power of two.
    var largest = 16

    // Random content does not become smaller, and the server would spend its time on trying.
    static let options = WebSocket.Options(compression: .none)

    func report(with server: SocketServer) async throws -> JSONValue {
        // What the runtime opens for itself, for its timers too, is there after the first socket.
        var configuration = CurlTransport.Configuration()
        // At most so many sockets to one host are open.
        configuration.maxConnectionsPerHost = sockets + 64
        if let file = server.overTLS?.authority { configuration.trust.authorities = .file(file) }
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: .standard)
        let url = "ws://127.0.0.1:\(server.port)/"
        var first = SocketRun()
        (first.sockets, first.echoes, first.cancels) = (1, 1, 20)
        _ = try await first.echo(client, url, 1)
        _ = try await first.cancel(client, url)
        let before = Self.descriptors
        var came = try await echo(client, url, sockets)
        if let port = server.overTLS?.port {
            came += try await echo(client, "wss://127.0.0.1:\(port)/", sockets)
        }
        let process = server.process
        let held = try await echo(client, url, 10) { await stop(process) }
        for path in ["cut", "lost"] { try await cut(client, url + path) }
        let cancelled = try await cancel(client, url)
        let killed = try await kill(client, url, server)
        try await Self.wait { client.runningCallCount == 0 }
        await client.shutdown()
        try await Self.wait { Self.descriptors <= before }
        return [
            "program": "sockets", "echoes": .number(JSONNumber(came)),
            "tls": .bool(server.overTLS != nil), "held": .number(JSONNumber(held)),
            "cancelled": .number(JSONNumber(cancelled)), "killed": .number(JSONNumber(killed)),
            "descriptorsLeft": .number(JSONNumber(max(Self.descriptors - before, 0))),
        ]
    }

    // MARK: Echoes

    func echo(
        _ client: Client, _ url: String, _ sockets: Int,
        while disturb: @escaping @Sendable () async -> Void = {}
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await disturb() }
            for number in 0..<sockets {
                group.addTask {
                    let socket = try await client.webSocket(url, options: Self.options)
                    async let sending: Void = {
                        for index in 0..<echoes {
                            try await socket.send(.binary(message(number, index)))
                        }
                    }()
                    var messages = socket.messages.makeAsyncIterator()
                    for index in 0..<echoes {
                        let message = try await messages.next()
                        guard message == .binary(self.message(number, index)) else {
                            throw SocketFailure("message \(index) was lost, or out of order")
                        }
                    }
                    try await sending
                    try await socket.close()
                    guard socket.closure?.code == .normal else {
                        throw SocketFailure("closed as \(String(describing: socket.closure))")
                    }
                }
            }
            try await group.waitForAll()
        }
        return sockets * echoes
    }

    // Small ones more often, and no two of a socket alike.
    func message(_ socket: Int, _ index: Int) -> Data {
        var random = SeededGenerator(seed: UInt64(socket) << 32 | UInt64(index))
        let size = Int.random(
            in: 1...(1 << Int.random(in: 0...largest, using: &random)), using: &random)
        var message = Data(repeating: UInt8(truncatingIfNeeded: socket &* 31 &+ index), count: size)
        message[size / 2] ^= UInt8(truncatingIfNeeded: index >> 3)
        return message
    }

    private func stop(_ server: ChildProcess) async {
        server.signal(SIGSTOP)
        try? await Task.sleep(for: .seconds(stop))
        server.signal(SIGCONT)
    }

    // MARK: Ends

    private func cut(_ client: Client, _ url: String) async throws {
        let socket = try await client.webSocket(url, options: Self.options)
        try await socket.send(.text("now"))
        do {
            for try await message in socket.messages {
                throw SocketFailure("\(message) of half a message")
            }
            throw SocketFailure("the messages ended without an error")
        } catch let error as ClientError where error.code == .connection {
            let code = (error.attachment as? WebSocket.Closure)?.code
            guard code == (url.hasSuffix("cut") ? .goingAway : nil) else {
                throw SocketFailure("closed as \(String(describing: code))")
            }
        }
    }

    /// Returns how many were cancelled in time.
    private func cancel(_ client: Client, _ url: String) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for lane in 0..<20 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(lane))
                    var count = 0
                    for _ in 0..<(cancels / 20) {
                        let moment = Duration.microseconds(
                            Int.random(in: 0...20_000, using: &random))
                        let task = Task {
                            let socket = try await client.webSocket(url, options: Self.options)
                            while true {
                                try await socket.send(.text("x"))
                                var messages = socket.messages.makeAsyncIterator()
                                guard try await messages.next() == .text("x") else {
                                    throw SocketFailure("another message came back")
                                }
                            }
                        }
                        try await Task.sleep(for: moment, tolerance: .zero)
                        task.cancel()
                        do { try await task.value } catch is CancellationError { count += 1 }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Returns how many sockets ended as lost.
    private func kill(_ client: Client, _ url: String, _ server: SocketServer) async throws -> Int {
        var open: [WebSocket] = []
        for _ in 0..<sockets {
            open.append(try await client.webSocket(url, options: Self.options))
        }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for socket in open {
                group.addTask {
                    do {
                        for try await _ in socket.messages {}
                        throw SocketFailure("the messages ended without an error")
                    } catch let error as ClientError where error.code == .connection {
                        return 1
                    }
                }
            }
            server.process.kill()
            return try await group.reduce(0, +)
        }
    }

    // MARK: What is left

    static var descriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    // For at most five seconds; the report tells what it was waited for.
    static func wait(until isTrue: () -> Bool) async throws {
        for _ in 0..<250 where !isTrue() { try await Task.sleep(for: .milliseconds(20)) }
    }
}
