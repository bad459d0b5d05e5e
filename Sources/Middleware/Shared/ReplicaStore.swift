// SPDX-License-Identifier: Apache-2.0

/// Counts the replicas that share state.
public protocol ReplicaStore: Sendable {
    /// Says that a replica is there, and counts those that have said so.
    /// - Parameters:
    ///   - replica: The replica, by a name that no other one has.
    ///   - group: What the replicas are replicas of.
    ///   - lifetime: How long this replica counts if it does not say so again.
    /// - Returns: How many replicas there are, this one included.
    /// - Throws: Any error, if the store has no answer.
    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int
}
