// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The thread that waits for the upgraded connections of a transport; it runs while there are any.
///
/// They are not in an engine: libcurl would count them among the connections of its multi handle, and
/// close them to make room for others. So they are counted here, within the same limits.
final class UpgradeLoop: Sendable {
    private struct State {
        // Those that have a place.
        var connections: [ObjectIdentifier: CurlUpgrade] = [:]
        // How many of them go to each host.
        var hosts: [Destination?: Int] = [:]
        // Those that wait for a place, in order.
        var waiting: [CurlUpgrade] = []
        // Only waits for wake-ups; nil before the first connection.
        var wakeup: CurlLoop?
        var isRunning = false
        var isClosed = false

        var all: [CurlUpgrade] { connections.values + waiting }

        /// Gives places to those that wait, as far as there are any.
        mutating func admit(upTo limit: Int, perHost hostLimit: Int) -> [CurlUpgrade] {
            var admitted: [CurlUpgrade] = []
            waiting.removeAll { connection in
                let count = hosts[connection.destination, default: 0]
                guard connections.count < limit, count < hostLimit else { return false }
                connections[ObjectIdentifier(connection)] = connection
                hosts[connection.destination] = count + 1
                admitted.append(connection)
                return true
            }
            return admitted
        }

        mutating func remove(_ connection: CurlUpgrade) {
            guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else {
                return waiting.removeAll { $0 === connection }
            }
            let count = hosts[connection.destination, default: 1] - 1
            hosts[connection.destination] = count == 0 ? nil : count
        }
    }

    let options: CurlOptions
    private let limit, hostLimit: Int
    private let state = Mutex(State())
    // False while the thread has yet to ask the connections before it waits again.
    private let needsWake = Atomic(false)
    private let over = SharedValue<Void>()

    init(_ options: CurlOptions) {
        self.options = options
        // Zero is no limit.
        let limits = options.limits
        limit = limits.connections == 0 ? .max : limits.connections
        hostLimit = limits.connections_per_host == 0 ? .max : limits.connections_per_host
    }

    // The thread and the connections hold it.
    deinit { state.withLock { $0.wakeup?.free() } }

    /// Adds a connection, which begins when there is a place for it, until it removes itself.
    func add(_ connection: CurlUpgrade) throws {
        let mustStart = try state.withLock { state in
            if state.isClosed { throw Self.isShutDown }
            if state.wakeup == nil { state.wakeup = try CurlLoop(options.limits) }
            state.waiting.append(connection)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard mustStart else { return wake() }
        do {
            try CurlLoop.startThread(stack: 1 << 20) { self.run() }
        } catch {
            state.withLock { state in
                state.remove(connection)
                state.isRunning = false
            }
            throw error
        }
    }

    func remove(_ connection: CurlUpgrade) {
        state.withLock { $0.remove(connection) }
        wake()
    }

    /// Makes the thread ask the connections what they wait for.
    func wake() {
        guard needsWake.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { $0.wakeup }?.wake()
    }

    /// Closes all connections, and returns when they are closed.
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
            needsWake.store(false, ordering: .releasing)
            if entries[0].revents != 0 { wakeup.wait(0) }
            for (connection, entry) in zip(waiting, entries.dropFirst()) {
                connection.act(isReady: entry.revents != 0)
            }
        }
        if state.withLock({ $0.isClosed }) { over.settle(.success(())) }
    }

    // Nil at the end of the thread.
    private func next() -> (CurlLoop, [CurlUpgrade])? {
        _ = needsWake.exchange(true, ordering: .acquiringAndReleasing)
        let (admitted, wakeup, all) = state.withLock { state in
            let admitted = state.admit(upTo: limit, perHost: hostLimit)
            let all = state.all
            if all.isEmpty { state.isRunning = false }
            return (admitted, state.wakeup, all)
        }
        for connection in admitted { connection.begin() }
        guard let wakeup, !all.isEmpty else { return nil }
        return (wakeup, all)
    }
}
