// SPDX-License-Identifier: Apache-2.0

/// Values under keys, each with an end.
///
/// Values that have ended are removed.
///
/// The whole table is searched for ended values only when it has doubled. So the average cost of a
/// change does not depend on its size.
struct ExpiringTable<Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var end: Double
    }

    private var entries: [String: Entry] = [:]
    private var sweepCount = Self.smallest

    private static var smallest: Int { 64 }

    /// The number of values, including ended ones.
    var count: Int { entries.count }

    /// The value under a key, and when it ends.
    func value(_ key: String, at now: Double) -> (value: Value, end: Double)? {
        guard let entry = entries[key], entry.end > now else { return nil }
        return (entry.value, entry.end)
    }

    /// Puts a value under a key.
    ///
    /// If the value has expired already, the key is removed.
    mutating func put(_ value: Value, _ key: String, until end: Double, at now: Double) {
        guard end > now else {
            entries[key] = nil
            return
        }
        entries[key] = Entry(value: value, end: end)
        if entries.count >= sweepCount { sweep(at: now) }
    }

    /// Removes a value.
    mutating func remove(_ key: String) { entries[key] = nil }

    /// The number of values that have not ended.
    mutating func countLeft(at now: Double) -> Int {
        sweep(at: now)
        return entries.count
    }

    private mutating func sweep(at now: Double) {
        entries = entries.filter { $0.value.end > now }
        sweepCount = max(entries.count * 2, Self.smallest)
    }
}
