// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    /// Passes replies to the waiting commands, in order.
    ///
    /// Null replaces each passed reply in the array.
    func take(
        _ replies: inout [ValkeyValue], from connection: Connection, _ state: inout State
    ) {
        for index in replies.indices {
            switch connection.life.handle(.replied) {
            case .takeGreeting: greet(connection, replies[index], &state)
            case .answer(let command): answer(command, &replies[index], from: connection, &state)
            case .refuse:
                let text = "\(connection.address) sent a reply without a command"
                return fail(connection, &state, ClientError(.protocol, text))
            default: return
            }
        }
        guard connection.life.isReady, !replies.isEmpty else { return }
        if connection.gathering.replied(replies.count, at: Poller.now) { leave(connection, &state) }
    }

    private func answer(
        _ command: PendingCommand, _ reply: inout ValkeyValue, from connection: Connection,
        _ state: inout State
    ) {
        state.waiting -= 1
        switch command.kind {
        case .command:
            let isNoPrimary = Self.isNoPrimary(reply)
            if let pending = command.reply, !pending.isOver {
                // The reply is moved, because a copy costs two atomic operations. Replies without a
                // waiting caller stay in the array, and are freed outside of the lock.
                var moved = ValkeyValue.null
                swap(&moved, &reply)
                state.outcomes.add(pending, .success(moved))
            }
            guard isNoPrimary else { return }
            if state.table != nil { return refreshSlots(&state) }
            // The primary has become a replica. The client therefore searches for the primary
            // again.
            let text = "\(connection.address) is a replica now; the client looks for the primary"
            fail(connection, &state, ClientError(.connection, text))
        case .asking: break
        case .slots:
            state.isRefreshing = false
            if let table = SlotTable(reply, by: connection.address) { state.take(table) }
        }
    }

    private static func isNoPrimary(_ reply: ValkeyValue) -> Bool {
        guard case .error(let text) = reply else { return false }
        // Before Redis 7, the error of a script contains the error of the script's command.
        return text.hasPrefix("READONLY") || text.hasPrefix("MASTERDOWN")
            || text.contains("-READONLY ")
    }

    // MARK: The end of a connection

    /// Closes a connection because of a fault, and sets the time of the next attempt.
    func fail(_ connection: Connection, _ state: inout State, _ fault: ClientError) {
        if connection.life.isOver { return }
        let (node, wasReady) = (connection.node, connection.life.isReady)
        close(connection, &state, fault)
        let now = Poller.now
        if wasReady {
            // The connection had worked. Another connection may therefore work at once.
            node.fault = fault
            if !node.isConnected, !node.isTrying { node.retryAt = now }
            if state.table != nil { refreshSlots(&state) }
            return
        }
        node.advance(from: connection.address)
        pause(node, fault, now, &state)
    }

    /// Continues with another address, after a pause if all addresses were tried.
    func pause(_ node: Node, _ fault: ClientError, _ now: Int64, _ state: inout State) {
        if node.isConnected {
            node.retryAt = now.addingClamped(backoff(after: 5, &state))
            return
        }
        node.fault = fault
        if node.tried < node.addresses.count, node.tried > 0 {
            node.retryAt = now
            return
        }
        node.tried = 0
        node.failures = min(node.failures + 1, 16)
        node.retryAt = now.addingClamped(backoff(after: node.failures, &state))
        if !node.isTrying { failLine(of: node, &state, fault) }
        if state.table != nil { refreshSlots(&state) }
    }

    // The pause is exponential with full jitter. The upper bound doubles from 50 ms to 400 ms, and
    // a pause is at least 5 ms. With longer pauses, some replicas would return to the server long
    // before other replicas.
    private func backoff(after failures: Int, _ state: inout State) -> Int64 {
        let limit = Int64(50) << Int64(min(max(failures - 1, 0), 3)) * 1_000_000
        return .random(in: 5_000_000...limit, using: &state.random)
    }

    /// Closes a connection.
    ///
    /// The commands without a reply fail.
    func close(_ connection: Connection, _ state: inout State, _ fault: ClientError) {
        let wasReady = connection.life.isReady
        guard case .close(var failed, let isFree) = connection.life.handle(.closed) else { return }
        if wasReady { state.figures.connections -= 1 }
        connection.node.connections.removeAll { $0 === connection }
        // If a thread is writing, that thread closes the descriptor.
        if isFree { connection.release() } else { tpv_shutdown(connection.fd) }
        while let command = failed.popFirst() {
            state.waiting -= 1
            if command.kind == .slots { state.isRefreshing = false }
            if let reply = command.reply { state.fail(reply, fault) }
        }
    }

    func failLine(of node: Node, _ state: inout State, _ fault: ClientError) {
        for command in state.takeLine(of: node) { state.fail(command.pending, fault) }
    }

    // MARK: Slots

    private static let refreshInterval: Int64 = 250_000_000

    /// Requests the slots of the cluster, but not too often.
    func refreshSlots(_ state: inout State) {
        let now = Poller.now
        guard !state.isRefreshing, now >= state.refreshAt,
            let connection = state.allNodes.compactMap(\.bestConnection).leastBusy
        else { return }
        state.isRefreshing = true
        state.refreshAt = now + Self.refreshInterval
        append(Wire.slots, pendingCommand(.slots, nil, now, now), to: connection, &state)
        leave(connection, &state)
    }

    /// Records the new node of a slot, and requests the other slots.
    func moved(_ slot: Int, to address: NodeAddress) {
        withState { state in
            if state.table == nil { state.table = SlotTable() }
            state.table?.set(slot, to: address)
            refreshSlots(&state)
        }
    }
}
