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
                within: Self.managementLimit)
            guard case .integer(let count) = reply else { return 0 }
            return Int(clamping: count)
        }.reduce(0, +)
    }

    private struct Found: Sendable {
        let field: Data
        let record: EntryRecord
    }

    private func visit<Value: Sendable>(
        _ visit: @escaping @Sendable (String, [Found]) async throws -> Value
    ) async throws -> [Value] {
        var seen: Set<String> = []
        var values: [Value] = []
        for node in try await server.keysOfNodes(within: Self.managementLimit) {
            var (cursor, marked, rounds): (UInt64, UInt64?, Int) = (0, nil, 0)
            repeat {
                let (next, names) = try await scan(node, from: cursor)
                // A cursor that occurs again begins an endless loop. The comparison with a cursor
                // of a round with a power of two as its number finds each loop.
                rounds += 1
                guard next != marked, rounds < Self.maxRounds else { throw Self.unexpected }
                if rounds & (rounds - 1) == 0 { marked = next }
                cursor = next
                let new = names.filter { seen.insert($0).inserted }
                try await withThrowingTaskGroup(of: Value.self) { group in
                    for name in new {
                        group.addTask { try await visit(name, self.entries(name)) }
                    }
                    for try await value in group { values.append(value) }
                }
            } while cursor != 0
        }
        return values
    }

    private func entries(_ name: String) async throws -> [Found] {
        let reply = try await server.run(
            StoreScripts.tails, keys: [name], arguments: [], within: Self.managementLimit)
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
    private static let maxRounds = 1 << 24
    private static var unexpected: ClientError {
        ClientError(.protocol, "the server's reply to SCAN has an unexpected form")
    }

    private func scan(
        _ node: String?, from cursor: UInt64
    ) async throws -> (next: UInt64, names: [String]) {
        let reply = try await server.send(
            ValkeyCommand(
                "SCAN", String(cursor), "MATCH", pattern, "COUNT", String(Self.keysAtOnce),
                key: node),
            within: Self.managementLimit)
        guard case .array(let parts) = reply, parts.count == 2, case .bytes(let text) = parts[0],
            let next = UInt64(String(decoding: text, as: UTF8.self)),
            case .array(let names) = parts[1]
        else { throw Self.unexpected }
        return (
            next,
            names.compactMap { name in
                guard case .bytes(let bytes) = name else { return nil }
                return String(validating: bytes, as: UTF8.self)
            }
        )
    }

    // A pattern for the names of all keys. A character with a special meaning becomes a wildcard.
    private var pattern: String {
        String(options.prefix.map { "*?[]\\^".contains($0) ? "?" : $0 })
            + ":{\(String(repeating: "?", count: 32))}"
    }
}
