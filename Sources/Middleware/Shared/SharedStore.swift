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
