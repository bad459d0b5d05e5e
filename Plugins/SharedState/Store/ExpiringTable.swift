// SPDX-License-Identifier: Apache-2.0

/// Values under keys, each with an expiry time.
///
/// The table is searched for expired values only when the size of the table has doubled. The
/// average cost of a change therefore does not depend on the size.
struct ExpiringTable<Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var end: Double
    }

    private var entries: [String: Entry] = [:]
    private var sweepCount = Self.smallest

    private static var smallest: Int { 64 }

    func value(_ key: String, at now: Double) -> (value: Value, end: Double)? {
        guard let entry = entries[key], entry.end > now else { return nil }
        return (entry.value, entry.end)
    }

    mutating func put(_ value: Value, _ key: String, until end: Double, at now: Double) {
        guard end > now else {
            entries[key] = nil
            return
        }
        entries[key] = Entry(value: value, end: end)
        if entries.count >= sweepCount { sweep(at: now) }
    }

    mutating func remove(_ key: String) { entries[key] = nil }

    mutating func countLeft(
        at now: Double, where condition: (Value) -> Bool = { _ in true }
    ) -> Int {
        sweep(at: now)
        return entries.count { condition($0.value.value) }
    }

    private mutating func sweep(at now: Double) {
        entries = entries.filter { $0.value.end > now }
        sweepCount = max(entries.count * 2, Self.smallest)
    }
}
