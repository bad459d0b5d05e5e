// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The connections of a client, and the thread that waits for them.
///
/// Callers write their commands themselves if nobody else is writing; what others add meanwhile goes
/// out in one piece. The thread connects, reads, and keeps the time.
final class ValkeyEngine: Sendable {
    let url: ValkeyURL
    private let tls: TLSContext?
    let configuration: ValkeyServer.Configuration
    let core: Mutex<Core>
    let poller: Poller
    /// Of tasks that run on the thread.
    let jobs = JobQueue()
    private let meter: (any GateMeter)?
    private let over = SharedValue<Void>()

    static var isShutDown: ClientError {
        ClientError(.cancelled, "the Valkey client was shut down; make a new one")
    }

    // With a quarter of it, 64 look-ups of 64 KiB at once take 10 to 20 % longer (`bench fleet-cache`): each
    // call that reads acknowledges what it has taken.
    private static let inputSize = 256 << 10
    // At most so much is read from one connection before the others get their turn.
    private static let readsInARow = 16

    init(
        url: ValkeyURL, tls: TLSContext?, configuration: ValkeyServer.Configuration,
        meter: (any GateMeter)?
    ) throws {
        self.url = url
        self.tls = tls
        self.configuration = configuration
        self.meter = meter
        poller = try Poller()
        let home = Node(url.addresses, connections: configuration.connections)
        core = Mutex(Core(home: home, dice: SystemRandomSource().generator(forCall: 0)))
        if let meter { Figures.describe(to: meter) }
        startThread()
    }

    // The thread holds the engine, so it has ended.
    deinit { poller.free() }

    // The first command shall find a connection, so the thread begins to connect.
    private func startThread() {
        core.withLock { $0.home.wantedAt = Poller.now }
        // Ended by `stop` or `shutdown`; the client's end calls the first.
        let thread = Thread { self.run() }
        // As large as the system's own: tasks may run here.
        thread.stackSize = 8 << 20
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    // MARK: From any thread

    /// Ends what is under way, and the thread.
    func stop() {
        core.withLock { if $0.ending == .none { $0.ending = .asked } }
        poller.wake()
    }

    func shutdown() async {
        stop()
        try? await over.value()
    }

    // MARK: The thread

    private func run() {
        unsafe tpv_enter_thread("turnpike.valkey")
        var polls: [tpv_poll] = []
        var links: [Link] = []
        var replies: [ValkeyValue] = []
        var input = [UInt8](repeating: 0, count: Self.inputSize)
        var outcomes = Outcomes()
        var list: [UnownedJob] = []
        while true {
            poller.setTurn(true)
            runJobs(&list)
            writeOwn()
            poller.setTurn(false)
            let (goesOn, figures) = core.withLock { core in
                (turn(&core, &outcomes, &polls, &links), core.figures.take())
            }
            outcomes.resume()
            if let meter, let figures { figures.tell(meter) }
            if !goesOn { break }
            poller.wait(&polls, sleeping: jobs.isEmpty)
            core.withLock { $0.isAsleep = false }
            poller.setTurn(true)
            for (index, link) in links.enumerated() where index < polls.count {
                if polls[index].is_writable { writable(link) }
                if polls[index].is_readable {
                    read(link, &input, &replies, &outcomes)
                    outcomes.resume()
                }
            }
        }
        jobs.close()
        runJobs(&list)
        over.settle(.success(()))
    }

    /// Does the due work, and prepares the next wait.
    /// - Returns: False at the end.
    private func turn(
        _ core: inout Core, _ outcomes: inout Outcomes, _ polls: inout [tpv_poll],
        _ links: inout [Link]
    ) -> Bool {
        polls.removeAll(keepingCapacity: true)
        links.removeAll(keepingCapacity: true)
        if core.ending != .none {
            core.ending = .over
            for node in core.allNodes {
                for link in node.links { close(link, of: node, &core, Self.isShutDown, &outcomes) }
                failLine(of: node, &core, Self.isShutDown, &outcomes)
            }
            return false
        }
        let due = keepTime(&core, &outcomes)
        if due < core.alarm || core.alarm <= Poller.now {
            core.alarm = due
            poller.setAlarm(due)
        }
        for node in core.allNodes {
            for link in node.links where link.fd >= 0 && link.phase != .closed {
                var poll = tpv_poll()
                poll.fd = link.fd
                poll.wants_write = link.phase == .connecting || link.isBlocked || link.wantsWrite
                polls.append(poll)
                links.append(link)
            }
        }
        core.isAsleep = true
        return true
    }

    /// The socket takes bytes, or is connected.
    private func writable(_ link: Link) {
        let writes = core.withLock { core -> Bool in
            if link.phase == .connecting || link.phase == .securing {
                connected(link, tls, &core)
                return false
            }
            guard link.isBlocked, !link.isWriting, link.phase != .closed else { return false }
            link.isBlocked = false
            link.isWriting = true
            return true
        }
        if writes { write(link) }
    }

    /// Reads what has come, and settles its commands.
    private func read(
        _ link: Link, _ input: inout [UInt8], _ replies: inout [ValkeyValue],
        _ outcomes: inout Outcomes
    ) {
        if link.phase == .securing { core.withLock { connected(link, tls, &$0) } }
        guard let reader = link.reader, link.fd >= 0, link.phase != .closed, link.phase != .securing
        else { return }
        // What OpenSSL has read already, no poll tells.
        for _ in 0..<(link.tls == nil ? Self.readsInARow : .max) {
            let count = unsafe input.withUnsafeMutableBufferPointer {
                unsafe link.tls?.receive($0.baseAddress, $0.count)
                    ?? tpv_receive(link.fd, $0.baseAddress, $0.count)
            }
            if count == Int64(TPV_AGAIN) { return }
            var fault: ClientError?
            if count > 0 {
                do {
                    try unsafe input.withUnsafeBytes { bytes in
                        let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(count)])
                        try unsafe reader.read(part) { replies.append($0) }
                    }
                } catch {
                    fault = brokenProtocol(link, error, input.prefix(min(Int(count), 16)))
                }
            } else {
                fault = lost(link, count)
            }
            core.withLock { core in
                take(&replies, from: link, &core, &outcomes)
                if let fault, link.phase != .closed { fail(link, &core, fault, &outcomes) }
            }
            replies.removeAll(keepingCapacity: true)
            if fault != nil || count < input.count && link.tls == nil { return }
        }
    }

    private func brokenProtocol(
        _ link: Link, _ error: any Error, _ bytes: ArraySlice<UInt8>
    ) -> ClientError {
        if !link.hasReceived, let fault = ValkeyFault.notRedis(Array(bytes), at: "\(link.address)")
        {
            return fault
        }
        let text = (error as? ClientError)?.message ?? "the protocol is broken"
        return ClientError(
            .protocol, "\(link.address) sent what breaks the protocol or a limit: \(text)")
    }

    private func lost(_ link: Link, _ count: Int64) -> ClientError {
        let reason = count == 0 ? "it closed the connection" : Self.text(ofError: -count)
        if link.phase == .greeting, !link.hasReceived {
            let advice =
                link.isKnown
                ? "" : "; if it expects TLS, write rediss:// instead of redis:// in the URL"
            return ClientError(
                .connection,
                "\(link.address) ended the connection before it answered (\(reason))\(advice)")
        }
        return ClientError(.connection, "the connection to \(link.address) was lost: \(reason)")
    }

    static func text(ofError code: Int64) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress,
                let text = unsafe tpv_errno_text(Int32(clamping: code), base, buffer.count)
            else { return "error \(code)" }
            return unsafe String(cString: text)
        }
    }
}
