// SPDX-License-Identifier: Apache-2.0

/// What storing one response takes at most, for explanations of a stack.
public struct CacheEntryBounds: Sendable, Hashable {
    /// The bytes in memory.
    public var memory: Int64
    /// The bytes on disk.
    public var disk: Int64

    /// Creates bounds.
    public init(memory: Int64 = 0, disk: Int64 = 0) {
        self.memory = memory
        self.disk = disk
    }
}
