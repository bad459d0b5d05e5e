// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCache
import TurnpikeCore
import TurnpikeSupport
import TurnpikeValkey

extension ValkeyStore {
    /// Lists all entries, from all nodes of a cluster.
    public func list() async throws -> [CacheListing] {
        try await visit { _, entries in
            entries.map { entry in
                CacheListing(response: entry.record.response, length: entry.record.contentLength)
            }
        }.flatMap(\.self)
    }

    /// Removes all entries that fulfil a condition.
    @discardableResult
    public func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        try await visit { name, entries in
            let gone = entries.filter { condition($0.record.response) }
            if gone.isEmpty { return 0 }
            let reply = try await self.server.run(
                StoreScripts.drop, keys: [name],
                arguments: gone.flatMap { [$0.field, $0.record.tail] },
                within: self.options.managementLimit)
            guard case .integer(let count) = reply else { return 0 }
            return Int(clamping: count)
        }.reduce(0, +)
    }

    private struct Found: Sendable {
        let field: Data
        let record: EntryRecord
    }

    // Visits the entries of each key, some keys at a time.
    private func visit<Value: Sendable>(
        _ visit: @escaping @Sendable (String, [Found]) async throws -> Value
    ) async throws -> [Value] {
        var seen: Set<String> = []
        var values: [Value] = []
        for node in try await nodes() {
            var cursor = "0"
            repeat {
                let (next, names) = try await scan(node, from: cursor)
                cursor = next
                let new = names.filter { seen.insert($0).inserted }
                try await withThrowingTaskGroup(of: Value.self) { group in
                    for name in new {
                        group.addTask { try await visit(name, self.entries(name)) }
                    }
                    for try await value in group { values.append(value) }
                }
            } while cursor != "0"
        }
        return values
    }

    private func entries(_ name: String) async throws -> [Found] {
        let reply = try await server.run(
            StoreScripts.tails, keys: [name], arguments: [], within: options.managementLimit)
        guard case .array(let values) = reply else { return [] }
        return stride(from: 1, to: values.count, by: 2).compactMap { index in
            guard case .bytes(let field) = values[index - 1], case .bytes(let tail) = values[index],
                let record = EntryRecord(tail: tail),
                StoreKey(record.response.key, prefix: options.prefix).name == name
            else { return nil }
            return Found(field: field, record: record)
        }
    }

    private static let keysAtOnce = 128

    private func scan(
        _ node: String?, from cursor: String
    ) async throws -> (next: String, names: [String]) {
        let reply = try await server.send(
            ValkeyCommand(
                "SCAN", cursor, "MATCH", pattern, "COUNT", String(Self.keysAtOnce), key: node),
            within: options.managementLimit)
        guard case .array(let parts) = reply, parts.count == 2, case .bytes(let next) = parts[0],
            case .array(let names) = parts[1]
        else {
            throw ClientError(
                .protocol, "the server's reply to SCAN has an unexpected form")
        }
        return (
            String(decoding: next, as: UTF8.self),
            names.compactMap { name in
                guard case .bytes(let bytes) = name else { return nil }
                return String(validating: bytes, as: UTF8.self)
            }
        )
    }

    // A pattern for the names of entries. A character with a special meaning becomes a wildcard.
    private var pattern: String {
        String(options.prefix.map { "*?[]\\^".contains($0) ? "?" : $0 })
            + ":{\(String(repeating: "?", count: 32))}"
    }

    private static let mostNodes = 512

    // A key for each node of a cluster; nil for a server outside a cluster.
    private func nodes() async throws -> [String?] {
        let reply: ValkeyValue
        do {
            reply = try await server.send(
                ValkeyCommand("CLUSTER", "SLOTS"), within: options.managementLimit)
        } catch let error as ClientError where error.message.contains("cluster support disabled") {
            return [nil]
        }
        guard case .array(let ranges) = reply, !ranges.isEmpty else { return [nil] }
        var nodes: [ValkeyValue: String] = [:]
        // A key is searched for each node. For a slot that does not exist, this takes a while.
        for range in ranges where nodes.count < Self.mostNodes {
            guard case .array(let parts) = range, parts.count > 2,
                case .integer(let slot) = parts[0], (0..<16_384).contains(slot),
                case .array(let node) = parts[2], node.count > 1
            else { continue }
            let name = ValkeyValue.array(Array(node.prefix(2)))
            if nodes[name] == nil { nodes[name] = ClusterSlot.key(in: slot) }
        }
        return Array(nodes.values)
    }
}

/// The slot of a key in a cluster (Redis cluster specification, "Key distribution model").
enum ClusterSlot {
    /// The slot of a key without a hash tag: its CRC-16 (XMODEM).
    static func slot(of key: String) -> Int64 {
        var crc: UInt16 = 0
        for byte in key.utf8 {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return Int64(crc % 16_384)
    }

    /// A key in a slot; any key if the slot does not exist.
    static func key(in slot: Int64) -> String {
        // One key in 16,384 is in a given slot. The chance that no number is in the slot is 10^-13.
        for number in 0..<500_000 {
            let key = String(number)
            if Self.slot(of: key) == slot { return key }
        }
        return ""
    }
}
