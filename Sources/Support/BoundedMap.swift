// SPDX-License-Identifier: Apache-2.0

/// The state of a gate for one key of a ``BoundedMap``.
public protocol BoundedMapEntry {
    /// Whether a running call still needs the entry.
    var isInUse: Bool { get }
}

/// Stores the states of a gate for its origins or other keys, at most 1024 entries.
///
/// If the map is full, the map drops the least recently used entry on which no call depends. If
/// calls depend on all entries, the map grows. A larger map searches for unused entries only after
/// each growth by a quarter, which keeps the cost per entry low. The maximum number of entries is
/// the number of running calls and a quarter.
public struct BoundedMap<Key: Hashable, Value: BoundedMapEntry> {
    @usableFromInline struct Entry {
        @usableFromInline var value: Value
        @usableFromInline var lastUse: UInt64

        @inlinable init(value: Value, lastUse: UInt64) {
            self.value = value
            self.lastUse = lastUse
        }

        @inlinable mutating func use<Result>(
            _ number: UInt64, _ change: (inout Value) throws -> Result
        ) rethrows -> Result {
            lastUse = number
            return try change(&value)
        }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    @usableFromInline var uses: UInt64 = 0
    // The number of entries at which the map searches for unused entries.
    @usableFromInline var fullCount = Self.bound
    // The position of the last used entry, because most clients use one server for a long time. The
    // position is valid until an entry is added or dropped.
    @usableFromInline var latest: (key: Key, index: Dictionary<Key, Entry>.Index)?

    @inlinable static var bound: Int { 1024 }

    /// Creates an empty map.
    @inlinable public init() {}

    /// The number of entries.
    @inlinable public var count: Int { entries.count }

    /// The entry of a key, or nil.
    @inlinable public subscript(key: Key) -> Value? { entries[key]?.value }

    /// Changes or adds the entry of a key in place, and reports the entries that the map dropped.
    @inlinable public mutating func update<Result>(
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
    @inlinable public mutating func updateIfPresent<Result>(
        _ key: Key, _ change: (inout Value) throws -> Result
    ) rethrows -> Result? {
        guard let index = index(of: key) else { return nil }
        return try change(&entries.values[index].value)
    }

    @inlinable mutating func index(of key: Key) -> Dictionary<Key, Entry>.Index? {
        if let latest, latest.key == key { return latest.index }
        guard let index = entries.index(forKey: key) else { return nil }
        latest = (key, index)
        return index
    }

    /// Changes all entries in place.
    @inlinable public mutating func updateAll(_ change: (inout Value) -> Void) {
        for index in entries.indices { change(&entries.values[index].value) }
    }

    /// The keys whose entries meet a condition.
    @inlinable public func keys(where condition: (Value) -> Bool) -> [Key] {
        entries.compactMap { condition($0.value.value) ? $0.key : nil }
    }

    /// Converts the entries, in any order, and leaves out results of nil.
    @inlinable public func compactMap<Result>(_ convert: (Key, Value) -> Result?) -> [Result] {
        entries.compactMap { convert($0.key, $0.value.value) }
    }

    @inlinable mutating func makeRoom(_ evicting: (Key, Value) -> Void) {
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

extension BoundedMap.Entry: Sendable where Value: Sendable {}
extension BoundedMap: Sendable where Key: Sendable, Value: Sendable {}
