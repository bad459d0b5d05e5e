// SPDX-License-Identifier: Apache-2.0

/// Locks that end by themselves.
///
/// A lock does not keep two replicas from acting at once: the first may be paused beyond the end of
/// its lock. What it then writes is refused by its fencing number (Kleppmann, "How to do distributed
/// locking", 2016), which grows with each lock of a key and is never used twice.
public protocol LockStore: Sendable {
    /// Takes a lock.
    /// - Parameters:
    ///   - key: What is locked.
    ///   - duration: After which time it ends by itself.
    /// - Returns: The lock, or how long the lock of another one lasts at most.
    /// - Throws: Any error, if the store has no answer.
    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer

    /// Ends a lock, if it has not ended.
    func unlock(_ lock: SharedLock) async throws
}

/// How a ``LockStore`` answers.
public enum LockAnswer: Sendable, Hashable {
    /// The lock was taken.
    case taken(SharedLock)
    /// Somebody else has it, at most for this time.
    case held(atMost: Duration)
}

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
