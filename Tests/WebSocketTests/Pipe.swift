// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeCore
import TurnpikeSupport

@testable import TurnpikeWebSocket

/// One end of a connection in memory.
final class Pipe: UpgradedChannel {
    /// The bytes of one direction.
    fileprivate final class Lane: Sendable {
        struct State {
            var bytes = Data()
            var hasEnded = false
            var waiters: [OneShot<Void>] = []
        }

        let state = Mutex(State())
        let highWater: Int

        init(highWater: Int) { self.highWater = highWater }

        func change(_ change: (inout State) -> Void) {
            let waiters = state.withLock { state in
                change(&state)
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.settle(.success(())) }
        }

        func wait(while condition: (State) -> Bool) async throws {
            while true {
                let moment = OneShot<Void>()
                let waits = state.withLock { state in
                    guard condition(state) else { return false }
                    state.waiters.append(moment)
                    return true
                }
                if !waits { return }
                try await moment.value { moment.settle(.failure(CancellationError())) }
            }
        }
    }

    private let incoming: Lane
    private let outgoing: Lane

    private init(_ incoming: Lane, _ outgoing: Lane) {
        (self.incoming, self.outgoing) = (incoming, outgoing)
    }

    static func pair(highWater: Int = 65_536) -> (Pipe, Pipe) {
        let (one, other) = (Lane(highWater: highWater), Lane(highWater: highWater))
        return (Pipe(one, other), Pipe(other, one))
    }

    /// How many bytes the other end has not read yet.
    var unread: Int { outgoing.state.withLock { $0.bytes.count } }

    /// How many bytes of the other end were not read yet, and whether that end waits to write.
    var arrived: (bytes: Int, waits: Bool) {
        incoming.state.withLock { ($0.bytes.count, $0.waiters.contains { !$0.isSettled }) }
    }

    var isClosed: Bool { outgoing.state.withLock { $0.hasEnded } }

    func read(upTo maxBytes: Int) async throws -> Data? {
        try await incoming.wait { $0.bytes.isEmpty && !$0.hasEnded }
        var result: Data?
        incoming.change { state in
            guard !state.bytes.isEmpty else { return }
            result = Data(state.bytes.prefix(maxBytes))
            state.bytes = Data(state.bytes.dropFirst(maxBytes))
        }
        return result
    }

    func write(_ bytes: Data) async throws {
        var hasEnded = false
        outgoing.change { state in
            hasEnded = state.hasEnded
            if !hasEnded { state.bytes += bytes }
        }
        if hasEnded { throw ClientError(.connection, "the pipe is closed") }
        try await outgoing.wait { [outgoing] in
            $0.bytes.count > outgoing.highWater && !$0.hasEnded
        }
    }

    func finishWriting() async throws { outgoing.change { $0.hasEnded = true } }

    func close() {
        outgoing.change { $0.hasEnded = true }
        incoming.change { $0.hasEnded = true }
    }
}

/// The server's end of a socket: reads masked frames, and writes what the test says.
final class Peer: Sendable {
    let channel: UpgradedConnection
    private let rest = Mutex(Data())

    init(_ channel: UpgradedConnection) { self.channel = channel }

    func send(_ frames: RawFrame...) async throws {
        for frame in frames { try await channel.write(frame.bytes) }
    }

    /// The next frame of the client, without its mask; nil at the end of the connection.
    func next() async throws -> RawFrame? {
        guard let head = try await take(2) else { return nil }
        guard head[1] & 0x80 != 0 else { throw ClientError(.protocol, "a frame without mask") }
        var count = Int(head[1] & 0x7F)
        if count > 125 {
            guard let long = try await take(count == 126 ? 2 : 8) else { return nil }
            count = long.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let mask = try await take(4), let masked = try await take(count) else { return nil }
        let content = Data(masked.enumerated().map { $1 ^ mask[$0 % 4] })
        return RawFrame(head[0], content)
    }

    private func take(_ count: Int) async throws -> Data? {
        while rest.withLock({ $0.count < count }) {
            guard let bytes = try await channel.read(upTo: 65_536) else { return nil }
            rest.withLock { $0 += bytes }
        }
        return rest.withLock { rest in
            defer { rest = Data(rest.dropFirst(count)) }
            return Data(rest.prefix(count))
        }
    }
}

/// Opens a socket over a pipe.
func openSocket(
    _ options: WebSocket.Options = WebSocket.Options(), deflate: DeflateAgreement? = nil,
    highWater: Int = 65_536, timeSource: any TimeSource = SystemTimeSource(),
    serializers: SerializerTable = SerializerTable()
) -> (socket: WebSocket, peer: Peer, pipe: Pipe) {
    let (near, far) = Pipe.pair(highWater: highWater)
    let url = URL(filePath: "/")
    let socket = WebSocket(
        UpgradedConnection(near, protocolName: "websocket"),
        Handshake.Agreement(protocolName: nil, deflate: deflate),
        head: ResponseHead(status: 101, url: url), options: options, timeSource: timeSource,
        serializers: serializers)
    return (socket, Peer(UpgradedConnection(far, protocolName: "websocket")), far)
}
