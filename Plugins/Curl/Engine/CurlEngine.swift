import CTurnpikeCurl
import Foundation
import Synchronization
import TurnpikeCore

/// libcurl's multi handle, and the thread that waits for its sockets.
///
/// What callers want of a transfer is posted to a list, and the thread is woken only where it
/// sleeps; one turn of the loop takes all that was posted and all that has come.
final class CurlEngine: Sendable {
    private enum Ending {
        case none
        // When its last transfer has ended.
        case drain
        case now
    }

    private struct Mail {
        var transfers: [CurlTransfer] = []
        var ending = Ending.none
        var isOver = false
    }

    // SAFETY: inside the lock.
    private struct Core: @unchecked Sendable {
        var loop: CurlLoop
        var running: [CurlTransfer] = []
        var idle: [CurlHandle] = []
    }

    private let mail = Mutex(Mail())
    private let core: Mutex<Core>
    private let loop: CurlLoop
    private let options: CurlOptions
    // Whether the thread will look at the mail before it sleeps.
    private let isAwake = Atomic(true)
    private let over = SharedValue<Void>()

    // Handles beyond that are freed when their transfer ends.
    private static let maxIdleHandles = 256

    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` where libcurl refuses an option.
    init(options: CurlOptions) throws {
        loop = try CurlLoop(options.limits)
        self.options = options
        core = Mutex(Core(loop: loop))
        let first = try loop.makeHandle(options)
        core.withLock { $0.idle.append(first) }
        // Ended by `stop` or `shutdown`; the transport's end calls the first.
        let thread = Thread { self.run() }
        thread.name = "turnpike.curl"
        thread.stackSize = 1 << 20
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    // The thread holds the engine, so it has ended. Not before: someone may be about to wake it.
    deinit { loop.free() }

    // MARK: From any thread

    func post(_ transfer: CurlTransfer, _ orders: CurlTransfer.Orders) {
        guard transfer.add(orders) else { return }
        let isOver = mail.withLock { mail in
            if !mail.isOver { mail.transfers.append(transfer) }
            return mail.isOver
        }
        if isOver {
            transfer.fail(Self.isShutDown)
        } else {
            wake()
        }
    }

    /// Lets what is under way end, then ends.
    func stop() {
        mail.withLock { if $0.ending == .none { $0.ending = .drain } }
        wake()
    }

    /// Ends what is under way.
    func shutdown() async {
        mail.withLock { $0.ending = .now }
        wake()
        try? await over.value()
    }

    private func wake() {
        if !isAwake.exchange(true, ordering: .sequentiallyConsistent) { loop.wake() }
    }

    private static var isShutDown: ClientError {
        ClientError(.cancelled, "the transport was shut down; make a new client")
    }

    // MARK: The thread

    private func run() {
        while true {
            let timeout = core.withLock { turn(&$0) }
            guard let timeout else { break }
            isAwake.store(false, ordering: .sequentiallyConsistent)
            let isDue = mail.withLock { !$0.transfers.isEmpty || $0.ending == .now }
            loop.wait(isDue ? 0 : timeout)
            isAwake.store(true, ordering: .sequentiallyConsistent)
        }
        over.settle(.success(()))
    }

    /// One turn of the loop.
    /// - Returns: The milliseconds until the next one at the latest, -1 for any time; nil at the
    ///   end.
    private func turn(_ core: inout Core) -> Int32? {
        core.loop.act()
        let (posted, ending) = mail.withLock { mail in
            defer { mail.transfers.removeAll(keepingCapacity: true) }
            return (mail.transfers, mail.ending)
        }
        for transfer in posted { obey(transfer, &core) }
        core.loop.runTimers()
        var isMore = false
        var left = Self.flushLimit
        while let handle = core.loop.nextReady() {
            if let transfer = handle.transfer, transfer.flush() { end(transfer, &core) }
            left -= 1
            if left == 0 {
                isMore = true
                break
            }
        }
        switch ending {
        case .none: break
        case .drain: if core.running.isEmpty, close(&core, ifIdle: true) { return nil }
        case .now: if close(&core, ifIdle: false) { return nil }
        }
        return isMore ? 0 : core.loop.timeout
    }

    private static let flushLimit = 1024

    private func obey(_ transfer: CurlTransfer, _ core: inout Core) {
        let orders = transfer.takeOrders()
        if orders.contains(.start) { begin(transfer, &core) }
        if orders.contains(.cancel) {
            end(transfer, &core)
        } else {
            transfer.resume(orders)
        }
    }

    private func begin(_ transfer: CurlTransfer, _ core: inout Core) {
        let handle: CurlHandle
        do {
            handle = try core.idle.popLast() ?? core.loop.makeHandle(options)
        } catch {
            return transfer.fail(error)
        }
        guard transfer.begin(handle) else {
            core.idle.append(handle)
            return
        }
        transfer.place = core.running.count
        core.running.append(transfer)
    }

    private func end(_ transfer: CurlTransfer, _ core: inout Core) {
        guard let (handle, isGood) = transfer.end() else { return }
        if isGood, core.idle.count < Self.maxIdleHandles {
            core.idle.append(handle)
        } else {
            handle.free()
        }
        let place = transfer.place
        transfer.place = -1
        let last = core.running.removeLast()
        guard last !== transfer else { return }
        core.running[place] = last
        last.place = place
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
        for transfer in left { transfer.fail(Self.isShutDown) }
        for transfer in core.running.reversed() {
            transfer.fail(Self.isShutDown)
            end(transfer, &core)
        }
        for handle in core.idle { handle.free() }
        core.idle = []
        core.loop.close()
        return true
    }
}
