// SPDX-License-Identifier: Apache-2.0

/// Which node of a cluster has which slots.
struct SlotTable {
    private(set) var nodes: [NodeAddress] = []
    private var owners = [UInt16](repeating: .max, count: KeySlot.count)

    /// The most nodes that are connected to, and those before a command wants them.
    static let nodeLimit = 512
    static let earlyLimit = 16

    /// Creates an empty table, for a cluster that does not tell its slots.
    init() {}

    /// Reads the reply of `CLUSTER SLOTS`; entries that cannot be are left out.
    ///
    /// It is read under the lock of the engine, so what it costs is bounded: each slot is in one
    /// range.
    /// - Returns: Nil if it is no such reply.
    init?(_ reply: ValkeyValue, by server: NodeAddress) {
        guard case .array(let ranges) = reply, ranges.count <= KeySlot.count else { return nil }
        var left = KeySlot.count
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3,
                case .integer(let first) = parts[0], case .integer(let last) = parts[1],
                first >= 0, first <= last, last < KeySlot.count,
                case .array(let node) = parts[2], node.count >= 2,
                case .integer(let port) = node[1]
            else { continue }
            let host: String
            switch node[0] {
            case .null: host = ""
            case .bytes(let data): host = String(decoding: data, as: UTF8.self)
            case .status(let text): host = text
            default: continue
            }
            left -= Int(last - first) + 1
            guard left >= 0 else { return nil }
            guard let address = NodeAddress(named: host, port: port, by: server),
                let index = index(of: address)
            else { continue }
            for slot in Int(first)...Int(last) { owners[slot] = index }
        }
    }

    func owner(of slot: Int) -> NodeAddress? {
        guard owners.indices.contains(slot), Int(owners[slot]) < nodes.count else { return nil }
        return nodes[Int(owners[slot])]
    }

    mutating func set(_ slot: Int, to address: NodeAddress) {
        guard owners.indices.contains(slot), let index = index(of: address) else { return }
        owners[slot] = index
    }

    private mutating func index(of address: NodeAddress) -> UInt16? {
        if let index = nodes.firstIndex(of: address) { return UInt16(index) }
        guard nodes.count < Self.nodeLimit else { return nil }
        nodes.append(address)
        return UInt16(nodes.count - 1)
    }
}
