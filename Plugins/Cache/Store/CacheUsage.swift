// SPDX-License-Identifier: Apache-2.0

/// How much a store holds.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries that the store knows of.
    public var entries: Int
    /// The bytes that the entries take, heads included.
    public var bytes: Int64
    /// How many entries were removed to make room.
    public var evictions: Int
    /// Whether this is all; false for a store elsewhere, which would have to be asked.
    public var isComplete = true

    /// Creates a usage.
    public init(entries: Int = 0, bytes: Int64 = 0, evictions: Int = 0) {
        self.entries = entries
        self.bytes = bytes
        self.evictions = evictions
    }
}
