// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// libcurl's multi handle, and the thread that waits for its sockets.
///
/// Callers post transfers to an inbox. An iteration of the loop handles all posted transfers and
/// all received bytes. Callers wake the thread only while the thread waits. A caller may also run
/// an iteration itself (`CurlEngine+Inline.swift`).
final class CurlEngine: Sendable {
    struct Inbox {
        var transfers: [CurlTransfer] = []
        var ending = Ending.none
        var isNew = false
        var isClosed = false
    }

    enum Ending {
        case none
        // The engine ends after its last transfer.
        case drain
        case now
    }

    /// SAFETY: the value is used only inside the lock.
    struct LockedState: @unchecked Sendable {
        var transfers: TransferTable
        // The latest time at which the thread wakes up, by the loop's clock.
        var threadDue = Int64.max
        var inlineRuns = InlineRuns()
        // The transfers that an iteration has taken from the inbox. The array keeps its memory.
        var posted: [CurlTransfer] = []
    }

    /// The kind of the thread's wait, with a limit in milliseconds or -1 for no limit.
    private enum Wait {
        case forSockets(Int32)
        case forWakeup(Int32)
    }

    let inbox = Mutex(Inbox())
    let state: Mutex<LockedState>
    let loop: CurlLoop
    // The number of threads that own the lock of `state` or are about to own it. On Linux, an
    // attempt to get a busy lock costs a system call.
    let owners = Atomic(0)
    let load = Atomic(0)
    // Whether the thread will check the inbox before the next wait.
    let isAwake = Atomic(true)
    private let over = SharedValue<Void>()
    private let jobs = JobQueue()
    // The metrics, or nil without a meter.
    private let figures: ConnectionFigures?

    private static var isShutDown: ClientError {
        ClientError(.cancelled, "the transport was shut down; make a new client")
    }

    // The maximum number of transfers whose progress one iteration reports.
    private static let reportLimit = 1024

    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if libcurl refuses an option.
    init(options: CurlOptions) throws {
        loop = try CurlLoop(options.limits, options.library)
        figures = options.configuration.meter.map { ConnectionFigures($0) }
        if let figures { loop.watch(figures) }
        state = Mutex(LockedState(transfers: TransferTable(loop: loop, options: options)))
        try state.withLock { try $0.transfers.prepare() }
        // The thread ends by `stop` or `shutdown`; the transport's `deinit` calls `stop`. The stack
        // has the system's default size, because tasks may run on the thread.
        do {
            try CurlLoop.startThread(stack: 8 << 20) { self.run() }
        } catch {
            state.withLock { $0.transfers.close(Self.isShutDown) }
            throw error
        }
    }

    // The thread has already ended, because a running thread keeps the engine alive.
    deinit { loop.free() }

    // MARK: From any thread

    // Begins a transfer. A quick transfer begins in an iteration that the caller runs. A transfer
    // over TLS is not quick, because the handshake would delay the caller.
    func start(_ transfer: CurlTransfer, isQuick: Bool) {
        guard enqueue(transfer, .start) else { return }
        if !isQuick || !runLoopInline(for: transfer) { wake() }
    }

    /// Begins transfers in one iteration, in which each transfer gets a separate connection.
    func start(_ transfers: [CurlTransfer]) {
        for transfer in transfers { _ = transfer.add(.start) }
        let isClosed = inbox.withLock { inbox in
            if inbox.isClosed { return true }
            inbox.transfers += transfers
            inbox.isNew = true
            return false
        }
        if isClosed {
            return state.withLock { _ in for transfer in transfers { refuse(transfer) } }
        }
        wake()
    }

    /// The numbers of open and of active connections, or nil without a meter.
    var connections: (open: Int, active: Int)? { state.withLock { _ in figures?.table.counts } }

    func post(_ transfer: CurlTransfer, _ orders: CurlTransfer.Orders) {
        if enqueue(transfer, orders) { wake() }
    }

    private func enqueue(_ transfer: CurlTransfer, _ orders: CurlTransfer.Orders) -> Bool {
        guard transfer.add(orders) else { return false }
        let isClosed = inbox.withLock { inbox in
            if inbox.isClosed { return true }
            inbox.transfers.append(transfer)
            inbox.isNew = true
            return false
        }
        // `close` ends running transfers within the lock. `close` may be running on this thread,
        // because an ended transfer may be the content of another transfer.
        if isClosed, orders.contains(.start) { state.withLock { _ in refuse(transfer) } }
        return !isClosed
    }

    // Fails a transfer that was posted after the end. If an iteration has already taken the start
    // order, the iteration fails the transfer.
    private func refuse(_ transfer: CurlTransfer) {
        if transfer.takeOrders().contains(.start) { transfer.refuse(Self.isShutDown) }
    }

    func stop() {
        end(.drain)
    }

    func shutdown() async {
        end(.now)
        try? await over.value()
    }

    private func end(_ ending: Ending) {
        inbox.withLock { inbox in
            if inbox.ending != .now { inbox.ending = ending }
            inbox.isNew = true
        }
        wake()
    }

    func wake() {
        // The thread checks the inbox before the next wait.
        if loop.isHere { return }
        if !isAwake.exchange(true, ordering: .sequentiallyConsistent) { loop.wake() }
    }

    // MARK: The thread

    private func run() {
        loop.enter(name: "turnpike.curl")
        var list: [UnownedJob] = []
        while var wait = iterateOnThread() {
            // Jobs may have posted transfers, which must begin before the thread waits.
            if runJobs(&list) {
                guard let next = iterateOnThread() else { break }
                wait = next
            }
            let isMore = inbox.withLock { $0.isNew } || !jobs.isEmpty
            switch wait {
            case _ where isMore: loop.wait(0)
            case .forSockets(let timeout): loop.wait(timeout)
            case .forWakeup(let timeout): loop.waitForWakeup(timeout)
            }
            isAwake.store(true, ordering: .sequentiallyConsistent)
        }
        jobs.close()
        runJobs(&list)
        over.settle(.success(()))
    }

    // Runs the waiting jobs. Jobs that are added during this method wait until the next check of
    // the network. Returns whether any job has run.
    @discardableResult
    private func runJobs(_ list: inout [UnownedJob]) -> Bool {
        jobs.take(into: &list)
        defer { list.removeAll(keepingCapacity: true) }
        for job in list { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        return !list.isEmpty
    }

    /// Returns the kind of wait before the next iteration, or nil after the end.
    private func iterateOnThread() -> Wait? {
        owners.add(1, ordering: .sequentiallyConsistent)
        return state.withLock { iterateThread(&$0) }
    }

    private func iterateThread(_ state: inout LockedState) -> Wait? {
        defer {
            // The store is within the lock, because the next caller must know to wake the thread.
            isAwake.store(false, ordering: .sequentiallyConsistent)
            // The last check of the inbox follows, because no transfer must be overlooked.
            owners.subtract(1, ordering: .sequentiallyConsistent)
        }
        loop.beginIteration()
        defer { loop.endIteration() }
        loop.act()
        let (ending, isMore) = iterate(&state)
        switch ending {
        case .none: break
        case .drain: if state.transfers.isEmpty, close(&state, ifIdle: true) { return nil }
        case .now: if close(&state, ifIdle: false) { return nil }
        }
        state.threadDue = isMore ? 0 : threadDue(&state)
        let timeout = CurlLoop.timeout(until: state.threadDue)
        return leavesSocketsToCallers(&state) ? .forWakeup(timeout) : .forSockets(timeout)
    }

    // MARK: An iteration

    // Handles the posted transfers, and reports received data. Returns the kind of the engine's
    // end, and whether more data must be reported.
    func iterate(_ state: inout LockedState) -> (Ending, isMore: Bool) {
        let ending = inbox.withLock { inbox in
            inbox.isNew = false
            swap(&inbox.transfers, &state.posted)
            return inbox.ending
        }
        for transfer in state.posted { state.transfers.obey(transfer) }
        state.posted.removeAll(keepingCapacity: true)
        loop.clearInterrupt()
        loop.runTimers()
        state.transfers.tryNextAddresses()
        state.transfers.failLate()
        let isMore = state.transfers.passOn(upTo: Self.reportLimit)
        load.store(state.transfers.count, ordering: .relaxed)
        figures?.tell()
        return (ending, isMore)
    }

    /// Whether the engine waits only for its inbox.
    func isIdle(_ state: borrowing LockedState) -> Bool { state.transfers.isEmpty && loop.isIdle }

    /// The next due time, by the loop's clock.
    func due(_ state: borrowing LockedState) -> Int64 { min(loop.due, state.transfers.due) }

    // Ends the engine, unless `ifIdle` is true and new transfers were posted.
    private func close(_ state: inout LockedState, ifIdle: Bool) -> Bool {
        let left = inbox.withLock { inbox -> [CurlTransfer]? in
            if ifIdle, !inbox.transfers.isEmpty { return nil }
            inbox.isClosed = true
            defer { inbox.transfers = [] }
            return inbox.transfers
        }
        guard let left else { return false }
        for transfer in left { refuse(transfer) }
        state.transfers.close(Self.isShutDown)
        figures?.close()
        return true
    }
}

extension CurlEngine: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job may release the transport, and with it the engine, during this loop.
        let own = unsafe Unmanaged.passRetained(self)
        defer { unsafe own.release() }
        if jobs.add(job) { wake() } else { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}

extension CurlTransfer {
    /// Orders to an engine for a transfer; several orders may be posted together.
    struct Orders: OptionSet {
        let rawValue: UInt8
        static let start = Orders(rawValue: 1)
        static let cancel = Orders(rawValue: 2)
        static let receive = Orders(rawValue: 4)
        static let send = Orders(rawValue: 8)
        // Orders are not posted before the start, because a cancellation may precede the exchange.
        static let unstarted = Orders(rawValue: 128)
    }
}
