// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

extension ValkeyEngine {
    // SAFETY: the value is used only inside the lock.
    struct State: @unchecked Sendable {
        enum Ending { case none, asked, over }

        let home: Node
        var nodes: [NodeAddress: Node] = [:]
        /// The slots of the cluster, or nil if the server is not known to be a cluster.
        var table: SlotTable?
        /// Whether a request for the slots is running, and the earliest time of the next request.
        var isRefreshing = false
        var refreshAt = Int64.min
        var lookups: Set<NodeAddress> = []

        var ending = Ending.none
        /// Whether the thread waits and needs a wake-up, and whether a wake-up will follow.
        var isAsleep = false
        private var wakes = false
        /// Whether tasks on the thread have added commands, which the thread writes after these
        /// tasks.
        var hasOwn = false
        /// The latest time at which the thread wakes up.
        var alarm = Int64.max
        var waiting = 0
        private(set) var lineBytes = 0
        /// Callers with a result, who are resumed when the lock is free.
        var outcomes = Outcomes()
        var figures = Figures()
        /// Decides the length of the pauses between attempts to connect.
        var random: any RandomNumberGenerator & Sendable

        init(home: Node, random: any RandomNumberGenerator & Sendable) {
            self.home = home
            self.random = random
        }

        var allNodes: [Node] { nodes.isEmpty ? [home] : [home] + nodes.values }

        mutating func node(for route: Route) -> Node {
            switch route {
            case .any: return home
            case .key(let key):
                guard let address = table?.owner(of: KeySlot.of(key)) else { return home }
                return node(at: address)
            case .node(let address), .asking(let address): return node(at: address)
            }
        }

        /// Makes the client connect to the nodes of a cluster before the first command.
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
            // The limit is needed, because a server may report any number of nodes.
            if nodes.count >= SlotTable.nodeLimit { return home }
            let node = Node([address])
            nodes[address] = node
            return node
        }

        var unsentBytes: Int {
            if nodes.isEmpty {
                return home.connections.reduce(lineBytes) { $0 + $1.unsentBytes }
            }
            return allNodes.reduce(lineBytes) { $1.connections.reduce($0) { $0 + $1.unsentBytes } }
        }

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

        /// Takes the commands that wait for a connection and fulfil a condition.
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

        mutating func fail(_ pending: PendingReply, _ fault: @autoclosure () -> ClientError) {
            if pending.isOver { return }
            figures.failures += 1
            outcomes.add(pending, .failure(fault()))
        }

        // MARK: The thread

        mutating func wake() {
            if isAsleep { wakes = true }
            isAsleep = false
        }

        mutating func takeWake() -> Bool {
            defer { wakes = false }
            return wakes
        }
    }

    /// Runs a body inside the lock, then wakes the thread, and resumes the callers with a result.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        var outcomes = Outcomes()
        let (result, wakes) = state.withLock { state in
            let result = body(&state)
            // The thread swaps two lists of outcomes, and both lists keep their memory.
            if !state.outcomes.isEmpty { swap(&outcomes, &state.outcomes) }
            return (result, state.takeWake())
        }
        if wakes { poller.wake() }
        outcomes.resume()
        return result
    }
}

struct Figures {
    var commands = 0
    var failures = 0
    var connects = 0
    var connections = 0

    static let help = [
        "turnpike.valkey.commands": "Commands to Valkey or Redis.",
        "turnpike.valkey.failures":
            "Commands that Valkey or Redis did not answer in time, or that could not be sent.",
        "turnpike.valkey.connects": "Connections to Valkey or Redis that were made.",
        "turnpike.valkey.connections": "Open connections to Valkey or Redis.",
    ]

    mutating func take() -> Figures {
        defer { self = Figures() }
        return self
    }

    func tell(_ meter: any GateMeter) {
        if commands > 0 { meter.add(Double(commands), to: "turnpike.valkey.commands", labels: [:]) }
        if failures > 0 { meter.add(Double(failures), to: "turnpike.valkey.failures", labels: [:]) }
        if connects > 0 { meter.add(Double(connects), to: "turnpike.valkey.connects", labels: [:]) }
        if connections != 0 {
            meter.change("turnpike.valkey.connections", by: Double(connections), labels: [:])
        }
    }
}
