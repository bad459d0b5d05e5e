// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data

/// Keeps one secret for each key, such as the tokens of an account, for all replicas.
public protocol TokenStore: Sendable {
    /// The content under a key; nil if there is none.
    func token(_ key: String) async throws -> StoredToken?

    /// Replaces the content under a key, unless it was stored with a higher fencing number.
    /// - Parameters:
    ///   - token: The content, and the number of the lock under which it was made
    ///     (``SharedLock/fence``).
    ///   - key: The key.
    ///   - lifetime: After which time it is removed; nil keeps it.
    /// - Returns: Whether it was stored. If not, somebody who came later has stored another one.
    /// - Throws: Any error, if the store has no answer.
    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool
}

/// What a ``TokenStore`` keeps.
public struct StoredToken: Sendable, Hashable {
    /// The content, in the format of who has stored it.
    public var content: Data
    /// The number of the lock under which it was made; higher numbers come later.
    public var fence: UInt64

    /// Creates a content.
    public init(_ content: Data, fence: UInt64) {
        self.content = content
        self.fence = fence
    }
}

extension StoredToken: CustomStringConvertible {
    /// The size, and no secret.
    public var description: String { "\(content.count) bytes, fence \(fence)" }
}
