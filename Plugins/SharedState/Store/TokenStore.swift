// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data

/// Stores one secret for each key, such as the tokens of an account, for all replicas.
public protocol TokenStore: Sendable {
    /// The content under a key; nil if there is no content.
    func token(_ key: String) async throws -> StoredToken?

    /// Replaces the content under a key, unless it was stored with a higher fencing number.
    /// - Parameters:
    ///   - token: The content, and the number of the lock under which it was created
    ///     (``SharedLock/fence``).
    ///   - key: The key.
    ///   - lifetime: The time after which the content is removed; nil keeps it.
    /// - Returns: Whether `token` was stored. If not, a later lock owner has stored another token.
    /// - Throws: Any error, if the store does not answer.
    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool
}

/// The content of a ``TokenStore`` for one key.
public struct StoredToken: Sendable, Hashable {
    /// The content, in the format of the code that stored it.
    public var content: Data
    /// The number of the lock under which it was created.
    ///
    /// Later locks have higher numbers.
    public var fence: UInt64

    /// Creates a content.
    public init(_ content: Data, fence: UInt64) {
        self.content = content
        self.fence = fence
    }
}

extension StoredToken: CustomStringConvertible {
    /// The size and the number, without the secret.
    public var description: String { "\(content.count) bytes, fence \(fence)" }
}
