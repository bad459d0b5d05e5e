// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
public import TurnpikeMiddleware

/// The state that the replicas of a service share, as gates use it: within a time limit, and without
/// harm if its store is slow, full or away.
///
/// ```swift
/// let shared = SharedState(try ValkeyServer(url: "redis://cache.internal:6379/0"))
/// let client = Client(stack: [
///     .retry(), .sharedRateLimit(perSecond: 500, burst: 50, shared: shared),
///     .attemptTimeout(.seconds(10)),
/// ])
/// ```
///
/// One instance serves any number of gates and clients. Each operation has ``timeLimit`` to answer.
/// If it does not, the gate goes on locally: a limit with this replica's share of the quota, a
/// cool-down with what this replica has seen, a token with a refresh of its own. After failures in a
/// row the store is not asked for a while (``StoreCircuit``). A log has a line when that begins, every
/// ten seconds while it lasts, and when the store answers again; of single failures it has one in
/// ten seconds.
///
/// A replica counts as long as it uses the store: its heartbeat goes with its operations, at most one
/// each second, and ends three seconds after the last one. Until the store has answered for the first
/// time, a replica takes itself for one of ten. If that is not acceptable, give their number.
public final class SharedState: Sendable {
    /// Cool-downs over the store, which limits that use this state honour by default.
    ///
    /// Give them to a ``/TurnpikeMiddleware/Retry`` too, if no ``SharedRateLimit`` with this state stands inside of it.
    public let cooldowns: Cooldowns

    let access: SharedAccess

    /// Creates shared state over a store.
    /// - Parameters:
    ///   - store: Keeps the state.
    ///   - timeLimit: How long an operation may take before the gate goes on locally.
    ///   - replicas: How many replicas share the state, if that is fixed; nil counts them by their
    ///     heartbeats (``ReplicaStore``). While the store has no answer, a limit is divided by the
    ///     number.
    ///   - group: What the replicas are replicas of, if several services use one store. Quotas and
    ///     cool-downs belong to a group.
    ///   - replica: The name of this replica, which no other one may have; random by default.
    ///   - meter: Receives failures (`turnpike.shared_state.failures`), operations that were left
    ///     out (`turnpike.shared_state.skipped`), stores that are not asked
    ///     (`turnpike.shared_state.away`) and the number of replicas
    ///     (`turnpike.shared_state.replicas`).
    public init(
        _ store: any SharedStore, timeLimit: Duration = .milliseconds(20), replicas: Int? = nil,
        group: String = "default", replica: String = UUID().uuidString,
        meter: (any GateMeter)? = nil
    ) {
        access = SharedAccess(
            store, timeLimit: timeLimit, replicas: replicas, group: group, replica: replica,
            meter: meter)
        cooldowns = Cooldowns(sharing: SharedCooldowns(access))
    }

    /// What the replicas are replicas of.
    public var group: String { access.group }

    /// The store.
    public var store: any SharedStore { access.store }

    /// How long an operation may take before the gate goes on locally.
    public var timeLimit: Duration { access.timeLimit }

    /// How many replicas share the state: as given, or as many as the latest heartbeats have
    /// counted.
    public var replicas: Int { access.replicas }

    /// Whether the store is asked now; false after failures in a row.
    public var isReachable: Bool { access.isReachable }

    /// Returns when the meter has passed on its figures.
    public func flush() async { await access.flush() }
}
