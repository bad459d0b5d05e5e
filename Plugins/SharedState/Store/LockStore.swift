// SPDX-License-Identifier: Apache-2.0

/// Locks that expire.
///
/// A lock does not prevent two replicas from acting at once: the first may be paused until its lock
/// has ended. Its later write is then refused because of its fencing number (Kleppmann, "How to do
/// distributed locking", 2016), which grows with each lock of a key and is never reused.
public protocol LockStore: Sendable {
    /// Takes a lock.
    /// - Parameters:
    ///   - key: The name of the lock.
    ///   - duration: The time after which the lock ends by itself.
    /// - Returns: The lock, or how long another owner's lock lasts at most.
    /// - Throws: Any error, if the store does not answer.
    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer

    /// Ends a lock, if it has not ended already.
    func unlock(_ lock: SharedLock) async throws
}

/// The answer of a ``LockStore``.
public enum LockAnswer: Sendable, Hashable {
    /// The lock was taken.
    case taken(SharedLock)
    /// Another owner has it, at most for this time.
    case held(atMost: Duration)
}

/// A lock that was taken.
public struct SharedLock: Sendable, Hashable {
    /// The name of the lock.
    public let key: String
    /// The fencing number, which is higher than that of each earlier lock of the key.
    public let fence: UInt64

    /// Creates a lock, for stores.
    public init(key: String, fence: UInt64) {
        self.key = key
        self.fence = fence
    }
}
