// SPDX-License-Identifier: Apache-2.0

import Foundation

struct SlotTable {
    private(set) var nodes: [NodeAddress] = []
    private var owners = [UInt16](repeating: .max, count: KeySlot.count)

    /// The maximum numbers of connected nodes, and of nodes that are connected before the first
    /// command.
    static let nodeLimit = 512
    static let earlyLimit = 16

    /// Creates an empty table, for a cluster that does not list its slots.
    init() {}

    /// Reads the reply of `CLUSTER SLOTS`, or returns nil if the reply has another form.
    ///
    /// Invalid entries are skipped. The ranges must not exceed the number of slots, because this
    /// code runs under the engine's lock.
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

enum KeySlot {
    static let count = 16_384

    /// Returns the slot of a key, from the text between the key's first braces if it is not empty.
    static func of(_ key: Data) -> Int {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return crc(key) }
        let rest = key[key.index(after: open)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else {
            return crc(key)
        }
        return crc(rest[..<close])
    }

    private static func crc(_ bytes: Data) -> Int {
        var sum: UInt16 = 0
        for byte in bytes { sum = sum << 8 ^ table[Int(UInt8(sum >> 8) ^ byte)] }
        return Int(sum) % count
    }

    // The table of CRC-16/XMODEM.
    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { sum, _ in
            sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
        }
    }
}

enum ClusterRedirect: Equatable {
    case moved(slot: Int, to: NodeAddress)
    /// The slot is moving. Only this command must be sent to the other node.
    case ask(NodeAddress)

    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`.
    /// - Returns: Nil if the text has another form, or the address cannot be a node.
    init?(_ text: String, by server: NodeAddress) {
        guard text.hasPrefix("MOVED ") || text.hasPrefix("ASK ") else { return nil }
        let words = text.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), slot >= 0, slot < KeySlot.count,
            let address = NodeAddress(redirect: words[2], by: server)
        else { return nil }
        self = words[0] == "MOVED" ? .moved(slot: slot, to: address) : .ask(address)
    }
}
