// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import TestSupport

/// A server on loopback whose reply to each command a test chooses, as another version may give it.
final class ScriptedServer: Sendable {
    private struct State {
        var commands: [String] = []
        var isStopped = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    /// The port of the server.
    let port: Int
    private let shared = Shared()

    /// Starts a server.
    /// - Parameter reply: Returns the reply to the words of a command, without its last line end.
    /// - Throws: `ServerFault` if there is no port.
    init(_ reply: @escaping @Sendable ([String]) -> String) throws {
        let listener = try LoopbackSocket.listening()
        port = listener.port
        listener.stopBlocking()
        let loop = UncheckedBox(Loop(listener, shared, reply))
        Thread { loop.value.run() }.start()
    }

    deinit { shared.state.withLock { $0.isStopped = true } }

    /// The names of the commands that have come, in order.
    var commands: [String] { shared.state.withLock { $0.commands } }

    private struct Peer {
        let socket: LoopbackSocket
        var buffer = Data()

        /// Takes a whole command out of what has come.
        mutating func next() -> [String]? {
            var rest = buffer[...]
            func line() -> Int? {
                guard let end = rest.range(of: Data("\r\n".utf8)) else { return nil }
                defer { rest = rest[end.upperBound...] }
                return Int(String(decoding: rest[..<end.lowerBound].dropFirst(), as: UTF8.self))
            }
            guard let count = line() else { return nil }
            var words: [String] = []
            for _ in 0..<count {
                guard let length = line(), rest.count >= length + 2 else { return nil }
                words.append(String(decoding: rest.prefix(length), as: UTF8.self))
                rest = rest.dropFirst(length + 2)
            }
            buffer = Data(rest)
            return words
        }
    }

    private final class Loop {
        private let listener: LoopbackSocket
        private let shared: Shared
        private let reply: @Sendable ([String]) -> String
        private var peers: [Peer] = []

        init(
            _ listener: LoopbackSocket, _ shared: Shared,
            _ reply: @escaping @Sendable ([String]) -> String
        ) {
            self.listener = listener
            self.shared = shared
            self.reply = reply
        }

        func run() {
            while !shared.state.withLock({ $0.isStopped }) {
                let sockets = [listener] + peers.map(\.socket)
                var entries = sockets.map {
                    pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
                }
                guard unsafe poll(&entries, nfds_t(entries.count), 20) > 0 else { continue }
                var ended: [Int] = []
                for index in peers.indices where entries[index + 1].revents != 0 {
                    if !serve(&peers[index]) { ended.append(index) }
                }
                for index in ended.reversed() { peers.remove(at: index) }
                while let socket = listener.accepted() { peers.append(Peer(socket: socket)) }
            }
        }

        private func serve(_ peer: inout Peer) -> Bool {
            guard case .bytes(let bytes) = peer.socket.read() else { return false }
            peer.buffer.append(bytes)
            while let words = peer.next(), let name = words.first?.uppercased() {
                shared.state.withLock { $0.commands.append(name) }
                let answer = Data((reply([name] + words.dropFirst()) + "\r\n").utf8)
                guard peer.socket.write(answer) == answer.count else { return false }
            }
            return true
        }
    }
}
