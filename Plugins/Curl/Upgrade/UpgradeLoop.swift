// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The thread that waits for the upgraded connections of a transport; it runs while there are any.
///
/// They are not in an engine: libcurl would count them among the connections of its multi handle, and
/// close them to make room for others.
final class UpgradeLoop: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: CurlUpgrade] = [:]
        // Only waits for wake-ups; nil before the first connection.
        var wakeup: CurlLoop?
        var isRunning = false
        var isClosed = false
    }

    let options: CurlOptions
    private let state = Mutex(State())

    init(_ options: CurlOptions) { self.options = options }

    // The thread and the connections hold it.
    deinit { state.withLock { $0.wakeup?.free() } }

    /// Adds a connection, until it removes itself.
    func add(_ connection: CurlUpgrade) throws {
        let mustStart = try state.withLock { state in
            if state.isClosed {
                throw ClientError(.cancelled, "the transport was shut down; make a new client")
            }
            if state.wakeup == nil { state.wakeup = try CurlLoop(options.limits) }
            state.connections[ObjectIdentifier(connection)] = connection
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard mustStart else { return wake() }
        let thread = Thread { self.run() }
        thread.stackSize = 1 << 20
        thread.start()
    }

    func remove(_ connection: CurlUpgrade) {
        state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
        wake()
    }

    /// Makes the thread ask the connections what they wait for.
    func wake() { state.withLock { $0.wakeup }?.wake() }

    /// Closes all connections.
    func shutdown() {
        let connections = state.withLock { state in
            state.isClosed = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.close() }
    }

    private func run() {
        while let (wakeup, connections) = next() {
            var entries = [pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
            var waiting: [CurlUpgrade] = []
            var due = Int64.max
            for connection in connections {
                guard let interest = connection.interest else { continue }
                entries.append(
                    pollfd(fd: interest.descriptor, events: interest.events, revents: 0))
                waiting.append(connection)
                due = min(due, interest.due)
            }
            _ = unsafe poll(&entries, nfds_t(entries.count), CurlLoop.timeout(until: due))
            if entries[0].revents != 0 { wakeup.wait(0) }
            for (connection, entry) in zip(waiting, entries.dropFirst()) {
                connection.act(isReady: entry.revents != 0)
            }
        }
    }

    // Nil at the end of the thread.
    private func next() -> (CurlLoop, [CurlUpgrade])? {
        state.withLock { state in
            guard let wakeup = state.wakeup, !state.connections.isEmpty else {
                state.isRunning = false
                return nil
            }
            return (wakeup, Array(state.connections.values))
        }
    }
}
