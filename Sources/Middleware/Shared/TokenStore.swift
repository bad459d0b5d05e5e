// SPDX-License-Identifier: Apache-2.0

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
