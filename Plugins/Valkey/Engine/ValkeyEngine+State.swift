// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

extension ValkeyEngine {
    /// What the engine's lock guards.
    // SAFETY: it stays inside the lock.
    struct State: @unchecked Sendable {
        enum Ending { case none, asked, over }

        /// The primary, or the node of a cluster that is asked for the slots.
        let home: Node
        /// The other nodes of a cluster.
        var nodes: [NodeAddress: Node] = [:]
        /// Nil if the server is no cluster, as far as is known.
        var table: SlotTable?
        /// Whether the slots are being asked for, and when they may be again.
        var isRefreshing = false
        var refreshAt = Int64.min
        /// Hosts that are being looked up.
        var lookups: Set<NodeAddress> = []

        var ending = Ending.none
        /// Whether the thread waits, so that it must be woken; and whether that is to be done.
        var isAsleep = false
        private var wakes = false
        /// Whether tasks on the thread have added commands, which it writes when each has had its turn.
        var hasOwn = false
        /// When the thread wakes up at the latest.
        var alarm = Int64.max
        /// Commands without a reply.
        var waiting = 0
        /// Bytes in lines.
        private(set) var lineBytes = 0
        /// Callers that are resumed when the lock is free.
        var outcomes = Outcomes()
        var figures = Figures()
        /// For pauses between tries to connect.
        var random: any RandomNumberGenerator & Sendable

        init(home: Node, random: any RandomNumberGenerator & Sendable) {
            self.home = home
            self.random = random
        }

        var allNodes: [Node] { nodes.isEmpty ? [home] : [home] + nodes.values }

        /// Returns the node for a command.
        mutating func node(for route: Route) -> Node {
            switch route {
            case .any: return home
            case .key(let key):
                guard let address = table?.owner(of: KeySlot.of(key)) else { return home }
                return node(at: address)
            case .node(let address), .asking(let address): return node(at: address)
            }
        }

        /// Lets the nodes of a cluster be connected to before a command wants them.
        mutating func wantNodes(at now: Int64) {
            for address in table?.nodes.prefix(SlotTable.earlyLimit) ?? [] {
                node(at: address).wantedAt = now
            }
        }

        private mutating func node(at address: NodeAddress) -> Node {
            if home.address == address, home.isConnected || home.isTrying { return home }
            if let node = nodes[address] {
                node.isRetired = false
                return node
            }
            // A server may name any number of nodes.
            if nodes.count >= SlotTable.nodeLimit { return home }
            let node = Node([address])
            nodes[address] = node
            return node
        }

        /// Bytes that were not handed to the system.
        var unsentBytes: Int {
            if nodes.isEmpty {
                return home.connections.reduce(lineBytes) { $0 + $1.unsentBytes }
            }
            return allNodes.reduce(lineBytes) { $1.connections.reduce($0) { $0 + $1.unsentBytes } }
        }

        /// Takes the slots that a node has told.
        mutating func take(_ table: SlotTable) {
            self.table = table
            let known = Set(table.nodes)
            home.learn(table.nodes)
            for (address, node) in nodes { node.isRetired = !known.contains(address) }
        }

        // MARK: Callers

        mutating func append(_ command: QueuedCommand, to node: Node) {
            node.line.append(command)
            waiting += 1
            lineBytes += command.bytes.count
        }

        /// Takes the commands that wait for a connection, and for which a condition holds.
        mutating func takeLine(
            of node: Node, where condition: (QueuedCommand) -> Bool = { _ in true }
        ) -> [QueuedCommand] {
            if node.line.isEmpty { return [] }
            let taken = node.line.filter(condition)
            if !taken.isEmpty { node.line.removeAll(where: condition) }
            for command in taken {
                waiting -= 1
                lineBytes -= command.bytes.count
            }
            return taken
        }

        /// Gives a caller an error, unless it has a result.
        mutating func fail(_ pending: PendingReply, _ fault: @autoclosure () -> ClientError) {
            if pending.isOver { return }
            figures.failures += 1
            outcomes.add(pending, .failure(fault()))
        }

        // MARK: The thread

        /// Ends the wait of the thread.
        mutating func wake() {
            if isAsleep { wakes = true }
            isAsleep = false
        }

        mutating func takeWake() -> Bool {
            defer { wakes = false }
            return wakes
        }
    }

    /// Runs a body inside the lock; then wakes the thread, and resumes the callers that have a result.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        var outcomes = Outcomes()
        let (result, wakes) = state.withLock { state in
            let result = body(&state)
            // Those of the thread keep their memory.
            if !state.outcomes.isEmpty { swap(&outcomes, &state.outcomes) }
            return (result, state.takeWake())
        }
        if wakes { poller.wake() }
        outcomes.resume()
        return result
    }
}

/// What a meter is told after a turn.
struct Figures {
    var commands = 0
    var failures = 0
    var connects = 0
    var connections = 0

    static let help = [
        "turnpike.valkey.commands": "Commands to Valkey or Redis.",
        "turnpike.valkey.failures":
            "Commands to Valkey or Redis that got no reply: no connection, no time or no room.",
        "turnpike.valkey.connects": "Connections to Valkey or Redis that were made.",
        "turnpike.valkey.connections": "Open connections to Valkey or Redis.",
    ]

    /// Returns what has changed since the last time.
    mutating func take() -> Figures {
        defer { self = Figures() }
        return self
    }

    /// Tells a meter what has changed.
    func tell(_ meter: any GateMeter) {
        if commands > 0 { meter.add(Double(commands), to: "turnpike.valkey.commands", labels: [:]) }
        if failures > 0 { meter.add(Double(failures), to: "turnpike.valkey.failures", labels: [:]) }
        if connects > 0 { meter.add(Double(connects), to: "turnpike.valkey.connects", labels: [:]) }
        if connections != 0 {
            meter.change("turnpike.valkey.connections", by: Double(connections), labels: [:])
        }
    }
}
