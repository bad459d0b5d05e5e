// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// A TCP proxy on 127.0.0.1 that is slow, silent, or cuts connections.
///
/// It has one thread, which ends when this object is released.
package final class FaultyProxy: Sendable {
    /// What the proxy does to what passes it; by default, nothing.
    package struct Faults: Sendable {
        /// How much later bytes reach the server.
        package var upDelay = Duration.zero
        /// How much later bytes reach the client.
        package var downDelay = Duration.zero
        /// Resets a connection after a random number of bytes in either direction, up to this one.
        ///
        /// The number is drawn when the connection begins.
        package var cutsWithin: Int?
        /// Passes nothing on, and reads nothing; connections stay open.
        package var isSilent = false
        /// Resets new connections at once.
        package var refuses = false

        package init() {}
    }

    private struct State {
        var faults = Faults()
        var resets = 0
        var accepted = 0
        var cuts = 0
        var isStopped = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    /// The port of the proxy.
    package let port: Int
    private let shared = Shared()

    /// Starts a proxy.
    /// - Parameters:
    ///   - target: The port of the server.
    ///   - seed: Decides where connections are cut.
    /// - Throws: ``ServerFault`` if there is no port left.
    package init(to target: Int, seed: UInt64 = 1) throws {
        let listener = try LoopbackSocket.listening()
        port = listener.port
        listener.stopBlocking()
        let loop = UncheckedBox(Loop(listener, target, SeededGenerator(seed: seed), shared))
        Thread { loop.value.run() }.start()
    }

    deinit { shared.state.withLock { $0.isStopped = true } }

    /// What the proxy does now.
    package var faults: Faults {
        get { shared.state.withLock { $0.faults } }
        set { shared.state.withLock { $0.faults = newValue } }
    }

    /// How many connections were accepted.
    package var accepted: Int { shared.state.withLock { $0.accepted } }
    /// How many connections were cut at a random byte.
    package var cuts: Int { shared.state.withLock { $0.cuts } }

    /// Resets all connections, within some milliseconds.
    package func reset() { shared.state.withLock { $0.resets += 1 } }

    // MARK: The thread

    /// One direction of a connection.
    private struct Direction {
        var line: [(due: ContinuousClock.Instant, bytes: Data)] = []
        var left: Int?
        var hasEnded = false

        mutating func add(_ bytes: Data, due: ContinuousClock.Instant) {
            line.append((due, bytes))
        }
    }

    private struct Link {
        let sockets: [LoopbackSocket]
        // From the client at 0, from the server at 1.
        var directions: [Direction]
    }

    private final class Loop {
        private let listener: LoopbackSocket
        private let target: Int
        private var generator: SeededGenerator
        private let shared: Shared
        private var links: [Link] = []
        private var resets = 0

        init(
            _ listener: LoopbackSocket, _ target: Int, _ generator: SeededGenerator,
            _ shared: Shared
        ) {
            self.listener = listener
            self.target = target
            self.generator = generator
            self.shared = shared
        }

        func run() {
            var isSilent = false
            while true {
                wait(isSilent)
                // Read after the wait, so that it applies to all that comes after it was set.
                let (faults, resets, isStopped) = shared.state.withLock {
                    ($0.faults, $0.resets, $0.isStopped)
                }
                if resets != self.resets || isStopped {
                    for link in links { cut(link) }
                    links = []
                    self.resets = resets
                }
                if isStopped { return }
                isSilent = faults.isSilent
                while let client = listener.accepted() { begin(client) }
                if isSilent { continue }
                links = links.compactMap { pump($0, faults) }
            }
        }

        private func wait(_ isSilent: Bool) {
            var entries = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
            var due = ContinuousClock.now + .milliseconds(5)
            if !isSilent {
                for link in links {
                    for side in 0...1 where !link.directions[side].hasEnded {
                        entries.append(
                            pollfd(
                                fd: link.sockets[side].descriptor, events: Int16(POLLIN),
                                revents: 0))
                    }
                    for direction in link.directions {
                        if let first = direction.line.first { due = min(due, first.due) }
                    }
                }
            }
            // Rounded up, so that it does not spin until something is due.
            let left = max((due - ContinuousClock.now) / .milliseconds(1), 0)
            _ = unsafe poll(&entries, nfds_t(entries.count), CInt(left.rounded(.up)))
        }

        private func begin(_ client: LoopbackSocket) {
            // Read anew: they may have been set, and the connection made, since the reset of others above.
            let faults = shared.state.withLock { state in
                state.accepted += 1
                return state.faults
            }
            guard !faults.refuses, let server = try? LoopbackSocket.connected(to: target) else {
                return client.resetOnClose()
            }
            client.stopBlocking()
            server.stopBlocking()
            let directions = (0...1).map { _ in
                Direction(
                    left: faults.cutsWithin.map {
                        Int.random(in: 1...max($0, 1), using: &generator)
                    })
            }
            links.append(Link(sockets: [client, server], directions: directions))
        }

        // Returns the link, or nil if it has ended.
        private func pump(_ link: Link, _ faults: Faults) -> Link? {
            var link = link
            for side in 0...1 {
                read(&link, side, side == 0 ? faults.upDelay : faults.downDelay)
                guard write(&link, side) else { return nil }
                // An end is passed on behind all bytes; it ends both directions.
                if link.directions[side].hasEnded, link.directions[side].line.isEmpty {
                    return nil
                }
            }
            return link
        }

        private func read(_ link: inout Link, _ side: Int, _ delay: Duration) {
            while !link.directions[side].hasEnded {
                switch link.sockets[side].read() {
                case .bytes(let bytes):
                    link.directions[side].add(bytes, due: ContinuousClock.now + delay)
                case .nothing: return
                case .end: link.directions[side].hasEnded = true
                }
            }
        }

        private func write(_ link: inout Link, _ side: Int) -> Bool {
            while let first = link.directions[side].line.first, first.due <= ContinuousClock.now {
                let left = link.directions[side].left ?? first.bytes.count
                let part = first.bytes.prefix(left)
                guard let count = link.sockets[1 - side].write(part) else {
                    cut(link)
                    return false
                }
                if link.directions[side].left != nil { link.directions[side].left = left - count }
                if link.directions[side].left == 0 {
                    shared.state.withLock { $0.cuts += 1 }
                    cut(link)
                    return false
                }
                guard count == first.bytes.count else {
                    link.directions[side].line[0].bytes = Data(first.bytes.dropFirst(count))
                    return true
                }
                link.directions[side].line.removeFirst()
            }
            return true
        }

        private func cut(_ link: Link) {
            for socket in link.sockets { socket.resetOnClose() }
        }
    }
}
