// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    /// Gives replies to the commands that wait for them, in order; those that were given are null then.
    func take(
        _ replies: inout [ValkeyValue], from link: Link, _ core: inout Core,
        _ outcomes: inout Outcomes
    ) {
        for index in replies.indices {
            if link.phase == .greeting {
                greet(link, replies[index], &core, &outcomes)
                link.hasReceived = true
                continue
            }
            guard link.phase == .ready else { return }
            guard let slot = link.slots.popFirst() else {
                let text = "\(link.address) sent a reply to no command"
                return fail(link, &core, ClientError(.protocol, text), &outcomes)
            }
            core.waiting -= 1
            switch slot.kind {
            case .command:
                let isNoPrimary = Self.isNoPrimary(replies[index])
                if let pending = slot.pending, !pending.isOver {
                    // Moved, since a copy costs two atomic operations. Those that nobody waits for stay, so
                    // that they end outside of the lock.
                    var reply = ValkeyValue.null
                    swap(&reply, &replies[index])
                    outcomes.add(pending, .success(reply))
                }
                if isNoPrimary {
                    if core.table == nil { return demoted(link, &core, &outcomes) }
                    refreshSlots(&core)
                }
            case .asking: break
            case .slots:
                core.isRefreshing = false
                if let table = SlotTable(replies[index], by: link.address) { core.take(table) }
            }
        }
        guard link.phase == .ready, !replies.isEmpty else { return }
        if link.gathering.replied(replies.count, at: Poller.now) { _ = send(link, &core) }
    }

    private static func isNoPrimary(_ reply: ValkeyValue) -> Bool {
        guard case .error(let text) = reply else { return false }
        // Before Redis 7, the error of a script quotes that of its command.
        return text.hasPrefix("READONLY") || text.hasPrefix("MASTERDOWN")
            || text.contains("-READONLY ")
    }

    // The primary has become a replica: it is asked again who is one.
    private func demoted(_ link: Link, _ core: inout Core, _ outcomes: inout Outcomes) {
        let fault = ClientError(
            .connection, "\(link.address) has become a replica; the primary is looked for")
        fail(link, &core, fault, &outcomes)
    }

    // MARK: The end of a connection

    func node(of link: Link, _ core: borrowing Core) -> Node? {
        core.allNodes.first { node in node.links.contains { $0 === link } }
    }

    /// Closes a connection because of a fault, and decides when the next one is tried.
    func fail(
        _ link: Link, _ core: inout Core, _ fault: ClientError, _ outcomes: inout Outcomes
    ) {
        guard let node = node(of: link, core) else { return }
        let wasReady = link.phase == .ready
        let address = link.address
        close(link, of: node, &core, fault, &outcomes)
        let now = Poller.now
        if wasReady {
            // It worked, so it may work again at once.
            node.fault = fault
            if !node.hasLink, !node.isTrying { node.retryAt = now }
            if core.table != nil { refreshSlots(&core) }
            return
        }
        node.advance(from: address)
        pause(node, fault, now, &core, &outcomes)
    }

    /// Goes on to another address, or waits if all have been tried.
    func pause(
        _ node: Node, _ fault: ClientError, _ now: Int64, _ core: inout Core,
        _ outcomes: inout Outcomes
    ) {
        if node.hasLink {
            node.retryAt = now.addingClamped(backoff(after: 5, &core))
            return
        }
        node.fault = fault
        if node.tried < node.addresses.count, node.tried > 0 {
            node.retryAt = now
            return
        }
        node.tried = 0
        node.failures = min(node.failures + 1, 16)
        node.retryAt = now.addingClamped(backoff(after: node.failures, &core))
        if !node.isTrying { failLine(of: node, &core, fault, &outcomes) }
        if core.table != nil { refreshSlots(&core) }
    }

    // Exponential with full jitter: 50 ms doubled up to 400 ms, and never less than 5 ms. A longer
    // pause would keep replicas apart for as long after an outage: some share, some do not yet.
    private func backoff(after failures: Int, _ core: inout Core) -> Int64 {
        let limit = Int64(50) << Int64(min(max(failures - 1, 0), 3)) * 1_000_000
        return .random(in: 5_000_000...limit, using: &core.dice)
    }

    /// Closes a connection; the commands without a reply fail.
    func close(
        _ link: Link, of node: Node, _ core: inout Core, _ fault: ClientError,
        _ outcomes: inout Outcomes
    ) {
        if link.phase == .ready { core.figures.connections -= 1 }
        link.phase = .closed
        link.reader = nil
        // Nobody else writes.
        if !link.isWriting { link.tls = nil }
        link.output.removeAll()
        link.candidates = []
        link.isBlocked = false
        link.nextDeadline = .max
        if link.fd >= 0 {
            if link.isWriting {
                tpv_shutdown(link.fd)
                link.closesAfterWrite = true
            } else {
                link.sending.removeAll()
                link.sent = 0
                release(link)
            }
        }
        while let slot = link.slots.popFirst() {
            core.waiting -= 1
            if slot.kind == .slots { core.isRefreshing = false }
            guard let pending = slot.pending, !pending.isOver else { continue }
            core.figures.failures += 1
            outcomes.add(pending, .failure(fault))
        }
    }

    func failLine(
        of node: Node, _ core: inout Core, _ fault: ClientError, _ outcomes: inout Outcomes
    ) {
        let line = node.line
        node.line = []
        for command in line {
            core.waiting -= 1
            core.lineBytes -= command.bytes.count
            if command.pending.isOver { continue }
            core.figures.failures += 1
            outcomes.add(command.pending, .failure(fault))
        }
    }

    // MARK: Slots

    private static let refreshInterval: Int64 = 250_000_000

    /// Asks for the slots of the cluster, but not too often.
    func refreshSlots(_ core: inout Core) {
        let now = Poller.now
        guard !core.isRefreshing, now >= core.refreshAt else { return }
        let links = core.allNodes.compactMap(\.bestLink)
        guard let link = links.min(by: { $0.slots.count < $1.slots.count }) else { return }
        core.isRefreshing = true
        core.refreshAt = now + Self.refreshInterval
        core.waiting += 1
        unsafe Wire.slots.withUnsafeBytes { unsafe link.append($0) }
        let stallsAt = now.addingClamped(configuration.stallLimit.wholeNanoseconds)
        link.slots.append(Slot(kind: .slots, pending: nil, stallsAt: stallsAt))
        if send(link, &core) { poller.wake() }
    }

    /// Lets the thread send what a connection has got.
    /// - Returns: Whether the thread must be woken.
    func send(_ link: Link, _ core: inout Core) -> Bool {
        if link.isWriting || link.isBlocked || link.output.isEmpty { return false }
        swap(&link.output, &link.sending)
        link.gathering.sent(at: Poller.now)
        // As if the socket had taken nothing: the thread writes when it polls.
        link.isBlocked = true
        defer { core.isAsleep = false }
        return core.isAsleep
    }
}
