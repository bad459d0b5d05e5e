// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The state of a gate for one origin.
protocol OriginEntry {
    /// Whether a call depends on the entry now, so that it must not be dropped.
    var isInUse: Bool { get }
}

/// The states of a gate for its origins; see ``BoundedMap``.
typealias OriginMap<Value: OriginEntry> = BoundedMap<Origin, Value>

/// The states of a gate for its origins or other keys.
///
/// There are at most 1024 entries: beyond that, the least recently used entry on which no call
/// depends is dropped.
///
/// If calls depend on more than 1024 entries, entries are dropped only after the number has grown
/// by a quarter, so that the search costs little per entry. So there are at most 1024 entries, or a
/// quarter more than the calls under way.
struct BoundedMap<Key: Hashable, Value: OriginEntry> {
    private struct Entry {
        var value: Value
        var lastUse: UInt64

        mutating func use<Result>(
            _ number: UInt64, _ change: (inout Value) throws -> Result
        ) rethrows -> Result {
            lastUse = number
            return try change(&value)
        }
    }

    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0
    // The number of entries at which entries are dropped.
    private var fullCount = Self.bound
    // The position of the entry that was used last, because most clients talk to one server for a
    // long time. It is valid until an entry is added or dropped.
    private var latest: (key: Key, index: Dictionary<Key, Entry>.Index)?

    static var bound: Int { 1024 }

    var count: Int { entries.count }

    /// The entry of a key, or nil.
    subscript(key: Key) -> Value? { entries[key]?.value }

    /// Changes the entry of a key in place.
    ///
    /// If there is no entry, makes one, and reports the entries that are dropped for it.
    mutating func update<Result>(
        _ key: Key, orMake make: @autoclosure () -> Value,
        evicting: (Key, Value) -> Void = { _, _ in },
        _ change: (inout Value) throws -> Result
    ) rethrows -> Result {
        uses &+= 1
        if let index = index(of: key) { return try entries.values[index].use(uses, change) }
        if entries.count >= fullCount { makeRoom(evicting) }
        var entry = Entry(value: make(), lastUse: uses)
        defer {
            latest = nil
            entries[key] = entry
        }
        return try change(&entry.value)
    }

    /// Changes the entry of a key in place, if the key has an entry.
    mutating func updateIfPresent<Result>(
        _ key: Key, _ change: (inout Value) throws -> Result
    ) rethrows -> Result? {
        guard let index = index(of: key) else { return nil }
        return try change(&entries.values[index].value)
    }

    private mutating func index(of key: Key) -> Dictionary<Key, Entry>.Index? {
        if let latest, latest.key == key { return latest.index }
        guard let index = entries.index(forKey: key) else { return nil }
        latest = (key, index)
        return index
    }

    /// Changes all entries in place.
    mutating func updateAll(_ change: (inout Value) -> Void) {
        for index in entries.indices { change(&entries.values[index].value) }
    }

    /// The keys whose entries meet a condition.
    func keys(where condition: (Value) -> Bool) -> [Key] {
        entries.compactMap { condition($0.value.value) ? $0.key : nil }
    }

    /// The entries about which there is something to say, in any order.
    func liveFigures(
        _ name: (Key) -> String, _ text: (Value) -> (String, isTrouble: Bool)?
    ) -> [LiveFigure] {
        entries.compactMap { key, entry in
            text(entry.value).map { LiveFigure(name(key), $0.0, isTrouble: $0.isTrouble) }
        }
    }

    private mutating func makeRoom(_ evicting: (Key, Value) -> Void) {
        let excess = entries.count - Self.bound + 1
        let unused = entries.lazy.filter { !$0.value.value.isInUse }
        let leaving =
            excess == 1
            ? unused.min { $0.value.lastUse < $1.value.lastUse }.map { [$0] } ?? []
            : Array(unused.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(excess))
        latest = nil
        for (key, entry) in leaving {
            entries[key] = nil
            evicting(key, entry.value)
        }
        fullCount = entries.count < Self.bound ? Self.bound : entries.count / 4 * 5
    }
}
