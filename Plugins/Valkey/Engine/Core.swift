// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

/// What the engine's lock guards.
// SAFETY: inside the lock.
struct Core: @unchecked Sendable {
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
    /// Whether the thread waits, so that it must be woken.
    var isAsleep = false
    /// Whether tasks on the thread have added commands, which it writes when each has had its turn.
    var hasOwn = false
    /// When the thread wakes up at the latest.
    var alarm = Int64.max
    /// Commands without a reply.
    var waiting = 0
    /// Bytes in lines.
    var lineBytes = 0
    var figures = Figures()
    /// For pauses between tries to connect.
    var dice: any RandomNumberGenerator & Sendable

    var allNodes: [Node] { nodes.isEmpty ? [home] : [home] + nodes.values }

    /// Returns the node for a command.
    mutating func node(for route: Route, connections: Int) -> Node {
        switch route {
        case .any: return home
        case .key(let key):
            guard let table, let address = table.owner(of: KeySlot.of(key)) else { return home }
            return node(at: address, connections: connections)
        case .node(let address), .asking(let address):
            return node(at: address, connections: connections)
        }
    }

    /// Lets the nodes of a cluster be connected to before a command wants them.
    mutating func wantNodes(at now: Int64, connections: Int) {
        for address in table?.nodes.prefix(SlotTable.earlyLimit) ?? [] {
            node(at: address, connections: connections).wantedAt = now
        }
    }

    private mutating func node(at address: NodeAddress, connections: Int) -> Node {
        if home.address == address, home.hasLink || home.isTrying { return home }
        if let node = nodes[address] {
            node.isRetired = false
            return node
        }
        // A server may name any number of nodes.
        if nodes.count >= SlotTable.nodeLimit { return home }
        let node = Node([address], connections: connections)
        nodes[address] = node
        return node
    }

    func unsentBytes() -> Int {
        if nodes.isEmpty { return lineBytes + home.links.reduce(0) { $0 + $1.unsentBytes } }
        return allNodes.reduce(lineBytes) { sum, node in
            node.links.reduce(sum) { $0 + $1.unsentBytes }
        }
    }

    /// Takes the slots that a node has told.
    mutating func take(_ table: SlotTable) {
        self.table = table
        let known = Set(table.nodes)
        home.learn(table.nodes)
        for (address, node) in nodes { node.isRetired = !known.contains(address) }
    }
}

/// What a meter is told after a turn.
struct Figures {
    var commands = 0
    var failures = 0
    var connects = 0
    var connections = 0

    private static let help = [
        "turnpike.valkey.commands": "Commands to Valkey or Redis.",
        "turnpike.valkey.failures":
            "Commands to Valkey or Redis that got no reply: no connection, no time or no room.",
        "turnpike.valkey.connects": "Connections to Valkey or Redis that were made.",
        "turnpike.valkey.connections": "Open connections to Valkey or Redis.",
    ]

    static func describe(to meter: any GateMeter) {
        for (name, text) in help { meter.describe(name, as: text) }
        // They exist before anything is counted, so that an alert sees the first failure as a change.
        for name in ["commands", "failures", "connects"] {
            meter.add(0, to: "turnpike.valkey." + name, labels: [:])
        }
    }

    /// Returns what has changed since the last time, or nil.
    mutating func take() -> Figures? {
        if commands == 0, failures == 0, connects == 0, connections == 0 { return nil }
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
