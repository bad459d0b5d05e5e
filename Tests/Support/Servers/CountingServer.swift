// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// An HTTP/1.1 server that notes when requests arrive, for many connections and high rates.
///
/// It answers each request without content at once, in one thread, which ends when this object is
/// released.
package final class CountingServer: Sendable {
    /// A request that has arrived.
    package struct Arrival: Sendable {
        /// When the server has read it.
        package let at: ContinuousClock.Instant
        /// Its target: `/3`.
        package let target: String
    }

    private struct State {
        var arrivals: [Arrival] = []
        var answer = Data("HTTP/1.1 204 No Content\r\n\r\n".utf8)
        var isStopped = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    /// The port of the server.
    package let port: Int
    private let shared = Shared()

    /// Starts a server.
    package init() throws {
        let listener = try LoopbackSocket.listening()
        port = listener.port
        listener.stopBlocking()
        let loop = UncheckedBox(Loop(listener, shared))
        Thread { loop.value.run() }.start()
    }

    deinit { shared.state.withLock { $0.isStopped = true } }

    /// The requests that have arrived, in order.
    package var arrivals: [Arrival] { shared.state.withLock { $0.arrivals } }

    /// Sets the head that answers all requests from now on, without its empty line.
    package func answer(with head: String) {
        shared.state.withLock { $0.answer = Data((head + "\r\n\r\n").utf8) }
    }

    private struct Peer {
        let socket: LoopbackSocket
        var buffer = Data()
    }

    private final class Loop {
        private let listener: LoopbackSocket
        private let shared: Shared
        private var peers: [Peer] = []

        init(_ listener: LoopbackSocket, _ shared: Shared) {
            self.listener = listener
            self.shared = shared
        }

        func run() {
            while !shared.state.withLock({ $0.isStopped }) {
                var entries = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
                for peer in peers {
                    entries.append(
                        pollfd(fd: peer.socket.descriptor, events: Int16(POLLIN), revents: 0))
                }
                guard unsafe poll(&entries, nfds_t(entries.count), 20) > 0 else { continue }
                var ended: [Int] = []
                for index in peers.indices where entries[index + 1].revents != 0 {
                    if !serve(&peers[index]) { ended.append(index) }
                }
                for index in ended.reversed() { peers.remove(at: index) }
                while let socket = listener.accepted() {
                    socket.stopBlocking()
                    peers.append(Peer(socket: socket))
                }
            }
        }

        private func serve(_ peer: inout Peer) -> Bool {
            guard case .bytes(let bytes) = peer.socket.read() else { return false }
            peer.buffer.append(bytes)
            let mark = Data("\r\n\r\n".utf8)
            while let end = peer.buffer.range(of: mark) {
                let line = peer.buffer.prefix { $0 != UInt8(ascii: "\r") }
                let words = String(decoding: line, as: UTF8.self).split(separator: " ")
                peer.buffer = Data(peer.buffer[end.upperBound...])
                let now = ContinuousClock.now
                let answer = shared.state.withLock { state in
                    state.arrivals.append(
                        Arrival(at: now, target: words.count > 1 ? String(words[1]) : ""))
                    return state.answer
                }
                guard peer.socket.write(answer) == answer.count else { return false }
            }
            return true
        }
    }
}
