// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    // For so long after the last command, a lost connection is made again in the background.
    private static let demandTime: Int64 = 3_000_000_000

    /// Ends what is late, and begins what is due.
    /// - Returns: When something is due next.
    func keepTime(_ core: inout Core, _ outcomes: inout Outcomes) -> Int64 {
        let now = Poller.now
        var due = Int64.max
        for node in core.allNodes {
            for link in node.links { endLate(link, of: node, now, &core, &outcomes) }
            endLateLine(node, now, &core, &outcomes)
            beginDue(node, now, &core, &outcomes)
            if node.isRetired { retire(node, &core, &outcomes) }
        }
        // What has begun or failed above may have changed other nodes.
        for node in core.allNodes { due = min(due, self.due(node, now)) }
        return due
    }

    private func endLate(
        _ link: Link, of node: Node, _ now: Int64, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        switch link.phase {
        case .closed: break
        case .resolving, .greeting:
            if now >= link.connectDeadline {
                let what = link.phase == .resolving ? "was not found" : "has not answered"
                fail(link, &core, slow(link, what), &outcomes)
            }
        case .connecting:
            if let code = link.connectFault {
                link.connectFault = nil
                tryNext(link, &core, because: code, &outcomes)
            } else if now >= link.connectDeadline {
                fail(link, &core, slow(link, "has not accepted a connection"), &outcomes)
            } else if now >= link.addressDeadline {
                tryNext(link, &core, because: ETIMEDOUT, &outcomes)
            }
        case .securing:
            if let text = link.securityFault {
                link.securityFault = nil
                let advice =
                    link.isKnown
                    ? "" : "; if it expects no TLS, write redis:// instead of rediss:// in the URL"
                let text =
                    "the TLS handshake with \(link.address) failed: \(ValkeyFault.shown(text))"
                fail(link, &core, ClientError(.tls, text + advice), &outcomes)
            } else if now >= link.connectDeadline {
                let advice = link.isKnown ? "" : " (write redis:// if it expects no TLS)"
                fail(link, &core, slow(link, "has not ended the TLS handshake" + advice), &outcomes)
            }
        case .ready:
            if now >= link.gathering.deadline { _ = send(link, &core) }
            if now >= link.nextDeadline { endLateReplies(link, now, &core, &outcomes) }
            if let slot = link.slots.first, now >= slot.stallsAt {
                let text =
                    "\(link.address) has not answered for too long, so that its connection was"
                    + " closed; is the server stopped, or busy with a slow command?"
                fail(link, &core, ClientError(.connection, text), &outcomes)
            }
        }
    }

    private func slow(_ link: Link, _ what: String) -> ClientError {
        ClientError(
            .connectTimeout,
            "\(link.address) \(what) within \(configuration.connectLimit.text); check host and port"
        )
    }

    private func endLateReplies(
        _ link: Link, _ now: Int64, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        var next = Int64.max
        link.slots.release { pending in
            if pending.isOver { return true }
            if pending.deadline <= now {
                core.figures.failures += 1
                outcomes.add(pending, .failure(late(pending, at: link.address)))
                return true
            }
            next = min(next, pending.deadline)
            return false
        }
        link.nextDeadline = next
    }

    private func endLateLine(
        _ node: Node, _ now: Int64, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        if node.line.isEmpty { return }
        node.line.removeAll { command in
            let isLate = command.pending.deadline <= now
            guard isLate || command.pending.isOver else { return false }
            core.waiting -= 1
            core.lineBytes -= command.bytes.count
            if !command.pending.isOver {
                core.figures.failures += 1
                let fault = node.fault ?? late(command.pending, at: node.address)
                outcomes.add(command.pending, .failure(fault))
            }
            return true
        }
    }

    private func isWanted(_ node: Node, _ now: Int64) -> Bool {
        if node.isRetired { return false }
        return !node.line.isEmpty || node.wantedAt.addingClamped(Self.demandTime) > now
    }

    private func beginDue(
        _ node: Node, _ now: Int64, _ core: inout Core, _ outcomes: inout Outcomes
    ) {
        guard now >= node.retryAt, isWanted(node, now) else { return }
        for link in node.links where link.phase == .closed && !link.isWriting && link.fd < 0 {
            connect(link, of: node, &core, &outcomes)
            if now < node.retryAt { return }
        }
    }

    private func retire(_ node: Node, _ core: inout Core, _ outcomes: inout Outcomes) {
        guard node.line.isEmpty, node.links.allSatisfy({ $0.slots.isEmpty }) else { return }
        let fault = ClientError(.connection, "the cluster does not have \(node.address) any more")
        for link in node.links { close(link, of: node, &core, fault, &outcomes) }
        if node.links.allSatisfy({ !$0.isWriting && $0.fd < 0 }) { core.nodes[node.address] = nil }
    }

    private func due(_ node: Node, _ now: Int64) -> Int64 {
        var due = Int64.max
        for link in node.links {
            switch link.phase {
            case .closed:
                if isWanted(node, now) { due = min(due, max(node.retryAt, now + 1_000_000)) }
            case .resolving, .greeting: due = min(due, link.connectDeadline)
            case .connecting:
                due = min(due, link.connectFault == nil ? link.addressDeadline : now)
            case .securing: due = min(due, link.securityFault == nil ? link.connectDeadline : now)
            case .ready:
                if !link.output.isEmpty, !link.isWriting, !link.isBlocked {
                    due = min(due, link.gathering.deadline)
                }
                due = min(due, link.nextDeadline)
                if let slot = link.slots.first { due = min(due, slot.stallsAt) }
            }
        }
        for command in node.line { due = min(due, command.pending.deadline) }
        return due
    }
}
