// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The thread that waits for the upgraded connections of a transport, while there are any.
///
/// An engine would count these connections with the others, and libcurl might close them to make
/// space. So this class counts them, with the same limits.
final class UpgradeLoop: Sendable {
    private struct State {
        // The connections with a place: all, the connecting ones, and the connected ones by socket.
        var connections: [ObjectIdentifier: CurlUpgrade] = [:]
        var opening: [ObjectIdentifier: CurlUpgrade] = [:]
        var sockets: [Int32: CurlUpgrade] = [:]
        var hosts: [Destination?: Int] = [:]
        // The connections that wait for a place, in order.
        var waiting: [CurlUpgrade] = []
        // Waits for wake-ups and for the sockets; nil before the first connection.
        var poller: CurlLoop?
        var isRunning = false
        var isClosed = false

        var all: [CurlUpgrade] { connections.values + waiting }

        /// Gives the free places to waiting connections, and returns these connections.
        mutating func admit(upTo limit: Int, perHost hostLimit: Int) -> [CurlUpgrade] {
            var admitted: [CurlUpgrade] = []
            waiting.removeAll { connection in
                let count = hosts[connection.destination, default: 0]
                guard connections.count < limit, count < hostLimit else { return false }
                connections[ObjectIdentifier(connection)] = connection
                opening[ObjectIdentifier(connection)] = connection
                hosts[connection.destination] = count + 1
                admitted.append(connection)
                return true
            }
            return admitted
        }

        mutating func remove(_ connection: CurlUpgrade, _ socket: Int32) {
            guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else {
                return waiting.removeAll { $0 === connection }
            }
            opening[ObjectIdentifier(connection)] = nil
            // Another connection may have the number of its socket by now.
            if sockets[socket] === connection { sockets[socket] = nil }
            let count = hosts[connection.destination, default: 1] - 1
            hosts[connection.destination] = count == 0 ? nil : count
        }
    }

    let options: CurlOptions
    private let limit, hostLimit: Int
    private let state = Mutex(State())
    // False if the thread will look at the connections before it waits again.
    private let needsWake = Atomic(false)
    private let over = SharedValue<Void>()

    init(_ options: CurlOptions) {
        self.options = options
        // Zero is no limit.
        let limits = options.limits
        limit = limits.connections == 0 ? .max : limits.connections
        hostLimit = limits.connections_per_host == 0 ? .max : limits.connections_per_host
    }

    // The thread and the connections keep this object alive.
    deinit { state.withLock { $0.poller?.free() } }

    // Adds a connection, which begins when there is a place for it. Returns the poller for its
    // socket; the poller is valid as long as this object.
    func add(_ connection: CurlUpgrade) throws -> CurlLoop {
        let (poller, mustStart) = try state.withLock { state in
            if state.isClosed { throw Self.isShutDown }
            let poller = try state.poller ?? CurlLoop(options.limits, options.library)
            state.poller = poller
            state.waiting.append(connection)
            defer { state.isRunning = true }
            return (poller, !state.isRunning)
        }
        guard mustStart else {
            wake()
            return poller
        }
        do {
            try CurlLoop.startThread(stack: 1 << 20) { self.run() }
        } catch {
            state.withLock { state in
                // The connection has no socket yet.
                state.remove(connection, -1)
                state.isRunning = false
            }
            throw error
        }
        return poller
    }

    /// From now on, a connection may ask this object to wait for its socket.
    func didOpen(_ connection: CurlUpgrade, _ socket: Int32) {
        state.withLock { state in
            state.opening[ObjectIdentifier(connection)] = nil
            state.sockets[socket] = connection
        }
    }

    func remove(_ connection: CurlUpgrade, _ socket: Int32) {
        state.withLock { $0.remove(connection, socket) }
        wake()
    }

    /// Wakes the thread to look for connections that were added, removed or closed.
    func wake() {
        guard needsWake.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { $0.poller }?.wake()
    }

    func shutdown() async {
        let (connections, isRunning) = state.withLock { state in
            state.isClosed = true
            return (state.all, state.isRunning)
        }
        for connection in connections { connection.end(failing: Self.isShutDown) }
        if isRunning { try? await over.value() }
    }

    private static var isShutDown: ClientError {
        ClientError(.cancelled, "the transport was shut down; make a new client")
    }

    private func run() {
        while let (poller, opening) = next() {
            var due = Int64.max
            for connection in opening {
                let wait = connection.wait
                due = min(due, wait.due)
                if wait.descriptor >= 0 { _ = poller.waitOnce(for: wait.descriptor, toRead: true) }
            }
            poller.wait(CurlLoop.timeout(until: due))
            needsWake.store(false, ordering: .releasing)
            for connection in opening { connection.goOnOpening() }
            var index = 0
            while let found = poller.found(index) {
                let connection = state.withLock { $0.sockets[found.descriptor] }
                connection?.goOn(canRead: found.canRead, canWrite: found.canWrite)
                index += 1
            }
        }
        if state.withLock({ $0.isClosed }) { over.settle(.success(())) }
    }

    // Returns nil at the end of the thread.
    private func next() -> (CurlLoop, [CurlUpgrade])? {
        _ = needsWake.exchange(true, ordering: .acquiringAndReleasing)
        let (admitted, poller, opening, isEmpty) = state.withLock { state in
            let admitted = state.admit(upTo: limit, perHost: hostLimit)
            let isEmpty = state.connections.isEmpty && state.waiting.isEmpty
            if isEmpty { state.isRunning = false }
            return (admitted, state.poller, state.opening.values + state.waiting, isEmpty)
        }
        for connection in admitted { connection.begin() }
        guard let poller, !isEmpty else { return nil }
        return (poller, opening)
    }
}
