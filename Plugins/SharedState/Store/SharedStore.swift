// SPDX-License-Identifier: Apache-2.0

/// Stores the state that the replicas of a service share: quotas, cool-downs, tokens and locks.
///
/// A store decides atomically, and by one clock: that of its server. A store does not know the
/// rules of HTTP. ``SharedState`` uses it for gates: it limits the time of each operation, and
/// tells a gate to decide locally if the store does not answer. So a store reports faults as
/// errors, and does not try again by itself.
///
/// Each operation must end by itself within seconds, and soon after its task is cancelled. An
/// operation may still take effect after its cancellation.
///
/// ``MemorySharedStore`` is a store for tests. `SharedStoreConformance` of `TurnpikeTesting` checks
/// other stores.
public protocol SharedStore: QuotaStore, CooldownStore, TokenStore, LockStore, ReplicaStore {
    /// Whether nobody can read a secret on its way to the store: it is encrypted, or does not leave
    /// the machine. The default is nil for unknown.
    var hidesTraffic: Bool? { get }

    /// Closes the connections and files of the store.
    ///
    /// The client of a stack file that describes the store calls this after its last call. A store
    /// that was made in code is closed by that code. By default it does nothing.
    func shutdown() async
}

extension SharedStore {
    /// Nil.
    public var hidesTraffic: Bool? { nil }
    /// Does nothing.
    public func shutdown() async {}
}

/// Stores the time until which no replica may send to an origin, once one replica knows it.
public protocol CooldownStore: Sendable {
    /// Begins a cool-down, or prolongs it. A cool-down is never shortened.
    /// - Parameters:
    ///   - duration: How long it lasts from now on.
    ///   - key: The origin, or a tenant's account there, that must not be used. The quota has the
    ///     same key.
    /// - Throws: Any error, if the store does not answer.
    func coolDown(for duration: Duration, _ key: String) async throws

    /// The remaining time of a cool-down; nil if there is no cool-down.
    func cooldown(of key: String) async throws -> Duration?
}

/// Counts the replicas that share state.
public protocol ReplicaStore: Sendable {
    /// Reports that a replica is running, and counts the replicas that have reported.
    /// - Parameters:
    ///   - replica: The unique name of the replica.
    ///   - group: The service that the replicas belong to.
    ///   - lifetime: How long this replica counts if it does not report again.
    /// - Returns: The number of replicas, including this one.
    /// - Throws: Any error, if the store does not answer.
    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int
}
