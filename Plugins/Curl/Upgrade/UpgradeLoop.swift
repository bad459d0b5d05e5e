// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The thread that waits for the upgraded connections of a transport.
///
/// An engine would count these connections with all others, and libcurl might close them.
/// This class therefore counts upgraded connections separately, with the same limits.
final class UpgradeLoop: Sendable {
    private struct State {
        // The connections that wait for permission, in order, the connecting connections, and the
        // connected connections by socket.
        var waiting: [CurlUpgrade] = []
        var opening: [CurlUpgrade] = []
        var sockets: [Int32: CurlUpgrade] = [:]
        // The connections that count toward the limits, and the number for each host.
        var placed: Set<ObjectIdentifier> = []
        var hosts: [Destination?: Int] = [:]
        // The loop that waits for wake-ups and sockets, or nil before the first connection.
        var poller: CurlLoop?
        // The tasks that continue on the thread.
        var jobs: [UnownedJob] = []
        var isRunning = false
        var isClosed = false

        /// Returns the waiting connections that may begin within the limits.
        mutating func admit(upTo limit: Int, perHost hostLimit: Int) -> [CurlUpgrade] {
            var admitted: [CurlUpgrade] = []
            waiting.removeAll { connection in
                let hostCount = hosts[connection.destination, default: 0]
                guard placed.count < limit, hostCount < hostLimit else { return false }
                hosts[connection.destination] = hostCount + 1
                placed.insert(ObjectIdentifier(connection))
                admitted.append(connection)
                return true
            }
            opening += admitted
            return admitted
        }

        mutating func remove(_ connection: CurlUpgrade, _ socket: Int32) {
            if let index = waiting.firstIndex(where: { $0 === connection }) {
                waiting.remove(at: index)
                return
            }
            // The connection may not have begun, or may already have ended.
            guard placed.remove(ObjectIdentifier(connection)) != nil else { return }
            opening.removeAll { $0 === connection }
            // Another connection may already have the same socket number.
            if sockets[socket] === connection { sockets[socket] = nil }
            let count = hosts[connection.destination, default: 1] - 1
            hosts[connection.destination] = count == 0 ? nil : count
        }
    }

    let options: CurlOptions
    private let limit, hostLimit: Int
    private let state = Mutex(State())
    // False if the thread will check the connections before the next wait.
    private let needsWake = Atomic(false)
    private let over = SharedValue<Void>()

    init(_ options: CurlOptions) {
        self.options = options
        // Zero means no limit.
        let limits = options.limits
        limit = limits.connections == 0 ? .max : limits.connections
        hostLimit = limits.connections_per_host == 0 ? .max : limits.connections_per_host
    }

    // The thread and the connections have ended, because they retain this object.
    deinit { state.withLock { $0.poller?.free() } }

    // Adds a connection, which begins as soon as the limits allow.
    func add(_ connection: CurlUpgrade) throws {
        let mustStart = try state.withLock { state in
            if state.isClosed { throw Self.isShutDown }
            var limits = options.limits
            // Busy polls would rarely find a message, because a message may arrive at any time.
            limits.busy_polling = 0
            state.poller = try state.poller ?? CurlLoop(limits, options.library)
            state.waiting.append(connection)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if !mustStart { return wake() }
        do {
            // The stack has the system's default size, because tasks may run on the thread.
            try CurlLoop.startThread(stack: 8 << 20) { self.run() }
        } catch {
            let (jobs, waiting, isClosed) = state.withLock { state in
                state.isRunning = false
                defer { state.jobs = [] }
                return (state.jobs, state.waiting, state.isClosed)
            }
            if isClosed { over.settle(.success(())) }
            for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
            for connection in waiting { connection.end(failing: error) }
            throw error
        }
    }

    // Records the socket of a connection. The connection may then call `poll` for the socket.
    func didOpen(_ connection: CurlUpgrade, _ socket: Int32) {
        state.withLock { state in
            state.opening.removeAll { $0 === connection }
            state.sockets[socket] = connection
        }
    }

    // Polls the open socket of a connection. Returns false if the system cannot poll the socket.
    func poll(_ socket: Int32, for sides: Int32, insteadOf former: Int32) -> Bool {
        state.withLock { $0.poller }?.poll(socket, for: sides, insteadOf: former) ?? false
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
            return (state.waiting + state.opening + state.sockets.values, state.isRunning)
        }
        for connection in connections { connection.end(failing: Self.isShutDown) }
        if isRunning { try? await over.value() }
    }

    private static var isShutDown: ClientError {
        ClientError(.cancelled, "the transport was shut down; make a new client")
    }

    private func run() {
        // Callers on this thread do not poll for their responses (`tpc_loop_poll`).
        state.withLock { $0.poller }?.enter(name: "turnpike.socket")
        var jobs: [UnownedJob] = []
        while let (poller, opening, isBusy) = next(after: &jobs) {
            var due = isBusy ? 0 : Int64.max
            for connection in opening {
                let wait = connection.wait
                due = min(due, wait.due)
                if wait.descriptor >= 0 { _ = poller.poll(wait.descriptor, for: 1, insteadOf: 0) }
            }
            poller.wait(CurlLoop.timeout(until: due))
            needsWake.store(false, ordering: .releasing)
            for connection in opening { connection.goOnOpening() }
            var index = 0
            while let found = poller.found(index) {
                state.withLock { $0.sockets[found.descriptor] }?.goOn(found.sides)
                index += 1
            }
        }
        if state.withLock({ $0.isClosed }) { over.settle(.success(())) }
    }

    // Runs the jobs. Returns the connections to check, and whether more jobs wait, or nil at the
    // end of the thread.
    private func next(after jobs: inout [UnownedJob]) -> (CurlLoop, [CurlUpgrade], isBusy: Bool)? {
        // The job of a reader adds the job of the task that waits for the reader's message.
        for _ in 0..<2 {
            state.withLock { swap(&$0.jobs, &jobs) }
            for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            jobs.removeAll(keepingCapacity: true)
        }
        _ = needsWake.exchange(true, ordering: .acquiringAndReleasing)
        let (admitted, next) = state.withLock { state in
            let admitted = state.admit(upTo: limit, perHost: hostLimit)
            let opening = state.opening + state.waiting
            state.isRunning = !state.hosts.isEmpty || !opening.isEmpty || !state.jobs.isEmpty
            return (admitted, state.isRunning ? (state.poller, opening, !state.jobs.isEmpty) : nil)
        }
        for connection in admitted { connection.begin() }
        guard let next, let poller = next.0 else { return nil }
        return (poller, next.1, next.2)
    }
}

extension UpgradeLoop: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The job may run on the thread, and release the transport, before this method returns.
        let own = unsafe Unmanaged.passRetained(self)
        defer { unsafe own.release() }
        let isRunning = state.withLock { state in
            if state.isRunning { state.jobs.append(job) }
            return state.isRunning
        }
        if isRunning { wake() } else { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}
