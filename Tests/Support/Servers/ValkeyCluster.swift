// SPDX-License-Identifier: Apache-2.0

/// A cluster of three primaries.
package final class ValkeyCluster: Sendable {
    /// The number of slots of a cluster.
    package static let slotCount = 16_384

    /// One for all tests that change nothing of it but slots and keys of their own.
    ///
    /// It ends with the process of the tests. A new one needs two seconds, before which its nodes refuse to write.
    package static let shared = Result { try ValkeyCluster() }

    /// The nodes; node `n` starts with the slots from `firstSlot(n)` on.
    package let nodes: [ValkeyPeer]

    /// Starts the nodes, and returns when each of them says that the cluster is well.
    package init() throws {
        nodes = try (0..<3).map { _ in
            try ValkeyPeer(options: [
                "--cluster-enabled", "yes", "--cluster-port", "\(LoopbackSocket.freePort())",
                "--cluster-node-timeout", "2000",
            ])
        }
        for (number, node) in nodes.enumerated() {
            _ = try expect(
                node.command(
                    "CLUSTER", "ADDSLOTSRANGE", "\(Self.firstSlot(number))",
                    "\(Self.firstSlot(number + 1) - 1)"))
            // Each needs an epoch of its own, or one of two nodes would give up slots.
            _ = try expect(node.command("CLUSTER", "SET-CONFIG-EPOCH", "\(number + 1)"))
        }
        for node in nodes.dropFirst() {
            let bus = try node.command("CONFIG", "GET", "cluster-port").list?.last?.integer ?? 0
            _ = try expect(
                nodes[0].command("CLUSTER", "MEET", "127.0.0.1", "\(node.port)", "\(bus)"))
        }
        for node in nodes {
            try node.wait(for: "a cluster") {
                let info = try node.command("CLUSTER", "INFO").text ?? ""
                return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
                    && info.contains("cluster_slots_ok:\(Self.slotCount)")
            }
        }
    }

    /// The URL of a node, from which a client learns the others.
    package var url: String { nodes[0].url }

    private static func firstSlot(_ node: Int) -> Int { node * slotCount / 3 }

    /// The slot of a key.
    package func slot(of key: String) throws -> Int {
        try expect(nodes[0].command("CLUSTER", "KEYSLOT", key)).integer ?? 0
    }

    /// The number of the node that has a slot, as the first node knows it.
    package func owner(of slot: Int) throws -> Int {
        for entry in try nodes[0].command("CLUSTER", "SLOTS").list ?? [] {
            guard let parts = entry.list, parts.count > 2, let first = parts[0].integer,
                let last = parts[1].integer, (first...last).contains(slot)
            else { continue }
            let port = parts[2].list?.dropFirst().first?.integer
            return nodes.firstIndex { $0.port == port } ?? 0
        }
        throw ServerFault("nobody has slot \(slot)")
    }

    // MARK: Moving slots

    /// Moves a slot with its keys to another node, while clients use it.
    package func move(_ slot: Int, to target: Int) throws {
        let source = try owner(of: slot)
        try beginMove(slot, from: source, to: target)
        try moveKeys(slot, from: source, to: target)
        try endMove(slot, to: target)
    }

    /// Begins to move a slot: from now on the source answers `ASK` for keys that it does not have.
    package func beginMove(_ slot: Int, from source: Int, to target: Int) throws {
        let (sourceID, targetID) = (try id(source), try id(target))
        _ = try expect(
            nodes[target].command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", sourceID))
        _ = try expect(
            nodes[source].command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", targetID))
    }

    /// Moves the keys of a slot whose move has begun.
    package func moveKeys(_ slot: Int, from source: Int, to target: Int) throws {
        while true {
            let keys = try nodes[source].command("CLUSTER", "GETKEYSINSLOT", "\(slot)", "100")
            let names = keys.list?.compactMap(\.text) ?? []
            if names.isEmpty { return }
            _ = try expect(
                nodes[source].connection().send(
                    ["MIGRATE", "127.0.0.1", "\(nodes[target].port)", "", "0", "5000", "REPLACE"]
                        + ["KEYS"] + names))
        }
    }

    /// Ends a move: from now on all nodes answer `MOVED`.
    package func endMove(_ slot: Int, to target: Int) throws {
        let id = try id(target)
        let others = nodes.indices.filter { $0 != target }
        for node in [target] + others {
            _ = try expect(nodes[node].command("CLUSTER", "SETSLOT", "\(slot)", "NODE", id))
        }
    }

    private func id(_ node: Int) throws -> String {
        try nodes[node].command("CLUSTER", "MYID").text ?? ""
    }

    private func expect(_ reply: RawReply) throws -> RawReply {
        if let error = reply.error { throw ServerFault("the cluster refuses: \(error)") }
        return reply
    }
}
