// SPDX-License-Identifier: Apache-2.0

/// A lock that was taken.
public struct SharedLock: Sendable, Hashable {
    /// What is locked.
    public let key: String
    /// The fencing number: higher than that of each earlier lock of the key.
    public let fence: UInt64

    /// Creates a lock, for stores.
    public init(key: String, fence: UInt64) {
        self.key = key
        self.fence = fence
    }
}
