// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
public import TurnpikeMiddleware

/// The state that the replicas of a service share.
///
/// Gates use it within a time limit, and without harm if its store is slow, full or unreachable.
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
/// Without an answer, the gate decides locally: a limit uses this replica's share of the quota, a
/// cool-down uses what this replica has seen, and a token is refreshed by this replica. After
/// failures in a row, the store is not asked for a while (``StoreCircuit``). The log has a line
/// when that begins, every ten seconds while it lasts, and when the store answers again. Single
/// failures are logged at most every ten seconds.
///
/// A replica counts while it uses the store. It sends its heartbeat with its operations, at most
/// one each second, and stops counting three seconds after the last one. Until the store's first
/// answer, a replica assumes that there are ten. If that is not acceptable, set their number.
public final class SharedState: Sendable {
    /// Cool-downs in the store.
    ///
    /// Limits with this state honour them by default.
    ///
    /// Also pass them to a ``/TurnpikeMiddleware/Retry`` without an inner ``SharedRateLimit`` of
    /// this state.
    public let cooldowns: Cooldowns

    let access: SharedAccess

    /// Creates shared state over a store.
    /// - Parameters:
    ///   - store: Stores the state.
    ///   - timeLimit: How long an operation may take before the gate decides locally.
    ///   - replicas: The number of replicas, if it is fixed; nil counts them by their heartbeats
    ///     (``SharedStore/beat(_:of:for:)``). While the store does not answer, a limit is divided by
    ///     this number.
    ///   - group: The name of the service, if several services use one store. Quotas and cool-downs
    ///     belong to a group.
    ///   - replica: The unique name of this replica; random by default.
    ///   - meter: Receives failures (`turnpike.shared_state.failures`), operations that were not
    ///     tried (`turnpike.shared_state.skipped`), stores that are not asked
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

    /// The name of the service that the replicas belong to.
    public var group: String { access.group }

    /// The store.
    public var store: any SharedStore { access.store }

    /// How long an operation may take before the gate decides locally.
    public var timeLimit: Duration { access.timeLimit }

    /// The number of replicas: the fixed number, or the number from the last heartbeats.
    public var replicas: Int { access.replicas }

    /// Whether the store is asked at present; false after failures in a row.
    public var isReachable: Bool { access.isReachable }

    /// Flushes the meter, and returns when that is done.
    public func flush() async { await access.flush() }
}
