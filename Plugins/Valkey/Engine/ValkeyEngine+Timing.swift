// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    // The time after the last command for which the client reconnects a lost connection in the
    // background.
    private static let demandTime: Int64 = 3_000_000_000

    /// Ends late operations, begins due operations, and returns the next due time.
    func keepTime(_ state: inout State) -> Int64 {
        let now = Poller.now
        for node in state.allNodes {
            for connection in node.connections { endLate(connection, now, &state) }
            for command in state.takeLine(
                of: node, where: { $0.pending.deadline <= now || $0.pending.isOver })
            {
                state.fail(command.pending, node.fault ?? late(command.pending, at: node.address))
            }
            beginDue(node, now, &state)
            if node.isRetired { retire(node, &state) }
        }
        // The due times are computed after the loop, because the loop may change other nodes.
        return state.allNodes.reduce(.max) { min($0, due($1, now)) }
    }

    private func endLate(_ connection: Connection, _ now: Int64, _ state: inout State) {
        switch connection.life.state {
        case .closing, .ended: break
        case .ready: endLateReplies(connection, now, &state)
        case .connecting where now < connection.deadline:
            if now >= connection.addressDeadline {
                tryNext(connection, &state, .addressFailed, because: ETIMEDOUT)
            }
        case .resolving, .connecting, .securing, .greeting:
            guard now >= connection.deadline else { return }
            let text =
                "\(connection.address) \(Self.slowStep(of: connection)) within"
                + " \(configuration.connectLimit.text); check host and port"
            fail(connection, &state, ClientError(.connectTimeout, text))
        }
    }

    private static func slowStep(of connection: Connection) -> String {
        switch connection.life.state {
        case .resolving: "was not found"
        case .connecting: "has not accepted a connection"
        case .securing:
            "has not ended the TLS handshake"
                + (connection.isKnown ? "" : " (write redis:// if the server has no TLS)")
        default: "has not answered"
        }
    }

    private func endLateReplies(_ connection: Connection, _ now: Int64, _ state: inout State) {
        if now >= connection.gathering.deadline { leave(connection, &state) }
        if now >= connection.nextDeadline {
            var next = Int64.max
            connection.life.release { pending in
                if pending.isOver { return true }
                if pending.deadline <= now {
                    state.fail(pending, late(pending, at: connection.address))
                    return true
                }
                next = min(next, pending.deadline)
                return false
            }
            connection.nextDeadline = next
        }
        if let command = connection.life.pending.first, now >= command.stallsAt {
            let text =
                "\(connection.address) has not answered for too long, so that its connection was"
                + " closed; is the server stopped, or busy with a slow command?"
            fail(connection, &state, ClientError(.connection, text))
        }
    }

    private func isWanted(_ node: Node, _ now: Int64) -> Bool {
        if node.isRetired { return false }
        return !node.line.isEmpty || node.wantedAt.addingClamped(Self.demandTime) > now
    }

    private func beginDue(_ node: Node, _ now: Int64, _ state: inout State) {
        guard isWanted(node, now) else { return }
        while now >= node.retryAt, node.connections.count < configuration.connections {
            connect(to: node, &state)
        }
    }

    private func retire(_ node: Node, _ state: inout State) {
        guard node.line.isEmpty, node.connections.allSatisfy(\.life.pending.isEmpty) else { return }
        let fault = ClientError(.connection, "the cluster does not have \(node.address) any more")
        for connection in node.connections { close(connection, &state, fault) }
        state.nodes[node.address] = nil
    }

    private func due(_ node: Node, _ now: Int64) -> Int64 {
        var due = Int64.max
        if node.connections.count < configuration.connections, isWanted(node, now) {
            due = max(node.retryAt, now + 1_000_000)
        }
        for connection in node.connections {
            switch connection.life.state {
            case .closing, .ended: break
            case .resolving, .securing, .greeting: due = min(due, connection.deadline)
            case .connecting: due = min(due, connection.addressDeadline)
            case .ready:
                if !connection.output.isEmpty, connection.life.isIdle {
                    due = min(due, connection.gathering.deadline)
                }
                due = min(due, connection.nextDeadline)
                if let command = connection.life.pending.first { due = min(due, command.stallsAt) }
            }
        }
        for command in node.line { due = min(due, command.pending.deadline) }
        return due
    }
}
