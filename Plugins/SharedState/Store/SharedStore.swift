// SPDX-License-Identifier: Apache-2.0

/// Where the replicas of a service keep the state that they share: quotas, cool-downs, tokens and
/// locks.
///
/// A store decides atomically, and by one clock: that of its server. It knows nothing of HTTP.
/// ``SharedState`` uses it on behalf of gates: it limits the time of each operation, and tells a gate
/// to go on locally if the store has no answer. A store therefore reports what goes wrong as an error,
/// and does not try again by itself.
///
/// Each operation must end by itself within seconds, and soon after its task is cancelled. An
/// operation whose task was cancelled may still take effect.
///
/// ``MemorySharedStore`` is one for tests, and `SharedStoreConformance` of `TurnpikeTesting` checks
/// others.
public protocol SharedStore: QuotaStore, CooldownStore, TokenStore, LockStore, ReplicaStore {
    /// Whether a secret can be read by nobody on its way to the store: it is encrypted, or does not
    /// leave the machine. Nil by default: that is not known.
    var hidesTraffic: Bool? { get }

    /// Closes what the store holds.
    ///
    /// The client of a stack file that describes the store calls it after its last call. Nobody else
    /// does: a store that was made in code is closed by who made it. Does nothing by default.
    func shutdown() async
}

extension SharedStore {
    /// Nil.
    public var hidesTraffic: Bool? { nil }
    /// Does nothing.
    public func shutdown() async {}
}

/// Keeps until when nothing is to be sent to an origin, because it said so to one of the replicas.
public protocol CooldownStore: Sendable {
    /// Begins a cool-down, or prolongs it; it is never shortened.
    /// - Parameters:
    ///   - duration: How long it lasts from now on.
    ///   - key: What must not be used: an origin, or a tenant's account there. The same key as that
    ///     of the quota.
    /// - Throws: Any error, if the store has no answer.
    func coolDown(for duration: Duration, _ key: String) async throws

    /// The time that is left of a cool-down; nil if there is none.
    func cooldown(of key: String) async throws -> Duration?
}

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
