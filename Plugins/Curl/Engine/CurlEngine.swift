import CTurnpikeCurl
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// libcurl's multi handle, and the thread that waits for its sockets.
///
/// What callers want of a transfer is posted to a list; one turn of the loop takes all that was
/// posted and all that has come. The thread is woken only where it sleeps, and not for the start of
/// a plain transfer while few are under way: then the caller takes that turn itself, and where
/// answers come at once also looks for its own.
final class CurlEngine: Sendable {
    // SAFETY: inside the lock.
    private struct Core: @unchecked Sendable {
        var transfers: TransferTable
        // When the thread wakes at the latest, by the loop's clock.
        var threadDue = Int64.max
        // Whether the thread leaves the sockets to callers, until it is woken.
        var isResting = false
        // Whether a caller has taken a turn since the thread's last one.
        var hasCallers = false
        // What a turn obeys; kept for its memory.
        var posted: [CurlTransfer] = []
    }

    /// How the thread waits for its next turn.
    private enum Pause {
        /// For sockets, a wake or so many milliseconds, -1 for any time.
        case watch(Int32)
        /// For the latter two alone.
        case rest(Int32)
    }

    private let mail = Mutex(Mail())
    private let core: Mutex<Core>
    private let loop: CurlLoop
    // Whether the thread will look at the mail before it sleeps.
    private let isAwake = Atomic(true)
    // How many hold `core`, or are about to: to try a lock that is held, or being handed over, costs
    // a system call on Linux.
    private let holders = Atomic(0)
    // The transfers under way.
    private let load = Atomic(0)
    private let over = SharedValue<Void>()
    private let jobs = JobQueue()

    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` where libcurl refuses an option.
    init(options: CurlOptions) throws {
        loop = try CurlLoop(options.limits)
        core = Mutex(Core(transfers: TransferTable(loop: loop, options: options)))
        try core.withLock { try $0.transfers.prepare() }
        // Ended by `stop` or `shutdown`; the transport's end calls the first.
        let thread = Thread { self.run() }
        // As large as the system's own: tasks may run here.
        thread.stackSize = 8 << 20
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    // The thread holds the engine, so it has ended.
    deinit { loop.free() }

    // MARK: From any thread

    /// Begins a transfer: here, where that is quick, as a handshake is not.
    func start(_ transfer: CurlTransfer, isQuick: Bool) {
        guard enqueue(transfer, .start) else { return }
        // The thread itself takes its turn when its jobs have run.
        if !isQuick || loop.isHere || load.load(ordering: .relaxed) > Self.quietLoad {
            return wake()
        }
        // Who holds the lock looks at the mail when it has let go of it.
        repeat {
            guard holders.load(ordering: .sequentiallyConsistent) == 0,
                core.withLockIfAvailable({ turnOfCaller(&$0, for: transfer) }) != nil
            else { return loop.want() }
        } while mail.withLock { $0.isNew }
    }

    func post(_ transfer: CurlTransfer, _ orders: CurlTransfer.Orders) {
        if enqueue(transfer, orders) { wake() }
    }

    private func enqueue(_ transfer: CurlTransfer, _ orders: CurlTransfer.Orders) -> Bool {
        guard transfer.add(orders) else { return false }
        let isOver = mail.withLock { mail in
            if mail.isOver { return true }
            mail.transfers.append(transfer)
            mail.isNew = true
            return false
        }
        // What runs is ended by who closes, who has the lock, and may be who is here: what it ends may
        // be another transfer's content.
        if isOver, orders.contains(.start) { core.withLock { _ in refuse(transfer) } }
        return !isOver
    }

    /// Ends what came too late; what has not come to its start yet is told of it there.
    private func refuse(_ transfer: CurlTransfer) {
        if transfer.takeOrders().contains(.start) { transfer.refuse(Self.isShutDown) }
    }

    /// Lets what is under way end, then ends.
    func stop() {
        end(.drain)
    }

    /// Ends what is under way.
    func shutdown() async {
        end(.now)
        try? await over.value()
    }

    private func end(_ ending: Ending) {
        mail.withLock { mail in
            if mail.ending != .now { mail.ending = ending }
            mail.isNew = true
        }
        wake()
    }

    private func wake() {
        // The thread looks at what was posted before it sleeps.
        if loop.isHere { return }
        if !isAwake.exchange(true, ordering: .sequentiallyConsistent) { loop.wake() }
    }

    // MARK: The thread

    private func run() {
        loop.enter(name: "turnpike.curl")
        var list: [UnownedJob] = []
        while var pause = takeTurn() {
            // What the jobs have posted goes out before the thread waits.
            if runJobs(&list) {
                guard let next = takeTurn() else { break }
                pause = next
            }
            let isMore = mail.withLock { $0.isNew } || !jobs.isEmpty
            switch pause {
            case _ where isMore: loop.wait(0)
            case .watch(let timeout): loop.wait(timeout)
            case .rest(let timeout): loop.rest(timeout)
            }
            isAwake.store(true, ordering: .sequentiallyConsistent)
        }
        jobs.close()
        runJobs(&list)
        over.settle(.success(()))
    }

    /// Runs the jobs that wait now, not those that they add: the network gets its turn in between.
    /// - Returns: Whether there were any.
    @discardableResult
    private func runJobs(_ list: inout [UnownedJob]) -> Bool {
        jobs.take(into: &list)
        defer { list.removeAll(keepingCapacity: true) }
        for job in list { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        return !list.isEmpty
    }

    private func takeTurn() -> Pause? {
        holders.add(1, ordering: .sequentiallyConsistent)
        return core.withLock { turnOfThread(&$0) }
    }

    /// - Returns: How to wait for the next turn; nil at the end.
    private func turnOfThread(_ core: inout Core) -> Pause? {
        defer {
            // Under the lock: who takes the next turn must find a thread that it has to wake.
            isAwake.store(false, ordering: .sequentiallyConsistent)
            // Before the mail is looked at for the last time, so that nothing is left lying there.
            holders.subtract(1, ordering: .sequentiallyConsistent)
        }
        loop.beginTurn()
        defer { loop.endTurn() }
        loop.act()
        let (ending, isMore) = turn(&core)
        switch ending {
        case .none: break
        case .drain: if core.transfers.isEmpty, close(&core, ifIdle: true) { return nil }
        case .now: if close(&core, ifIdle: false) { return nil }
        }
        core.threadDue = isMore ? 0 : due(&core)
        let timeout = CurlLoop.timeout(until: core.threadDue)
        // Else it would be woken by the answers that callers look for.
        core.isResting = isIdle(core) && loop.isBrisk
        return core.isResting ? .rest(timeout) : .watch(timeout)
    }

    // A thread that slept until something comes would be woken by each caller whose transfer has a
    // time of its own: while there are such callers it sleeps for less than those times.
    private func due(_ core: inout Core) -> Int64 {
        let due = min(loop.due, core.transfers.due)
        guard core.hasCallers else { return due }
        core.hasCallers = false
        return min(due, CurlLoop.now + Self.shortSleep)
    }

    private func turnOfCaller(_ core: inout Core, for transfer: CurlTransfer) {
        holders.add(1, ordering: .sequentiallyConsistent)
        defer { holders.subtract(1, ordering: .sequentiallyConsistent) }
        loop.beginTurn()
        defer { loop.endTurn() }
        core.hasCallers = true
        var (ending, isMore) = turn(&core)
        for _ in 0..<Self.lookLimit {
            guard ending == .none, !isMore, core.transfers.isAlone(transfer), loop.isBrisk,
                holders.load(ordering: .relaxed) == 1, !mail.withLock({ $0.isNew }), loop.look()
            else { break }
            (ending, isMore) = turn(&core)
        }
        let isLeft = core.isResting && !isIdle(core)
        let due = min(loop.due, core.transfers.due)
        if isMore || isLeft || ending != .none || due < core.threadDue {
            core.threadDue = 0
            wake()
        }
    }

    /// Whether nobody has to look at the sockets.
    private func isIdle(_ core: borrowing Core) -> Bool { core.transfers.isEmpty && loop.isIdle }

    /// Takes what was posted, and passes on what has come.
    /// - Returns: How the engine is to end, and whether something is left to be passed on.
    private func turn(_ core: inout Core) -> (Ending, isMore: Bool) {
        let ending = mail.withLock { mail in
            mail.isNew = false
            swap(&mail.transfers, &core.posted)
            return mail.ending
        }
        for transfer in core.posted { core.transfers.obey(transfer) }
        core.posted.removeAll(keepingCapacity: true)
        loop.unwant()
        loop.runTimers()
        core.transfers.tryNextAddresses()
        core.transfers.failLate()
        let isMore = core.transfers.passOn(upTo: Self.flushLimit)
        load.store(core.transfers.count, ordering: .relaxed)
        return (ending, isMore)
    }

    /// Ends the engine, unless something was posted in the meantime that it is to wait for.
    private func close(_ core: inout Core, ifIdle: Bool) -> Bool {
        let left = mail.withLock { mail -> [CurlTransfer]? in
            if ifIdle, !mail.transfers.isEmpty { return nil }
            mail.isOver = true
            defer { mail.transfers = [] }
            return mail.transfers
        }
        guard let left else { return false }
        for transfer in left { refuse(transfer) }
        core.transfers.close(Self.isShutDown)
        return true
    }
}

extension CurlEngine: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if jobs.add(job) { wake() } else { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}
