// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
public import TurnpikeSupport

/// The state that the replicas of a service share.
///
/// If the store is slow, full or unreachable, the gates of a client decide locally.
///
/// ```swift
/// let shared = SharedState(try ValkeyServer(url: "redis://cache.internal:6379/0"))
/// let client = Client(stack: [
///     .retry(), .sharedRateLimit(perSecond: 500, burst: 50, shared: shared),
///     .attemptTimeout(.seconds(10)),
/// ])
/// ```
///
/// One instance serves any number of gates and clients. Each operation must answer within
/// ``timeLimit``. Without an answer, the gate decides locally. A limit uses this replica's share of
/// the quota, a cool-down uses only this replica's responses, and this replica refreshes a token
/// itself. After several failures in a row, the store gets no operations for some time
/// (``StoreCircuit``). The log gets a line at the beginning of this time, later every ten seconds,
/// and at the next answer of the store. Single failures are logged at most every ten seconds.
///
/// A replica sends a heartbeat with an operation, at most one each second. Three seconds after the
/// last heartbeat, the replica no longer counts. Until the store's first answer, a replica assumes
/// ten replicas. If ten is wrong for your service, set `replicas`.
public final class SharedState: Sendable {
    /// The cool-downs in the store.
    ///
    /// Limits with this state wait for these cool-downs by default.
    ///
    /// If a ``/TurnpikeMiddleware/Retry`` has no inner ``SharedRateLimit`` of this state, pass the
    /// cool-downs to the retry too.
    public let cooldowns: Cooldowns

    let access: SharedAccess

    /// Creates shared state over a store.
    /// - Parameters:
    ///   - store: Stores the state.
    ///   - timeLimit: The longest time for an operation. After this time, the gate decides locally.
    ///   - replicas: The fixed number of replicas, or nil to count heartbeats
    ///     (``SharedStore/beat(_:of:for:)``). While the store does not answer, each limit is
    ///     divided by this number.
    ///   - group: The name of the service, if several services use one store. Each group has its
    ///     own quotas and cool-downs.
    ///   - replica: The unique name of this replica, by default random.
    ///   - meter: Receives failures (`turnpike.shared_state.failures`), skipped operations
    ///     (`turnpike.shared_state.skipped`), unreachable stores (`turnpike.shared_state.away`) and
    ///     the number of replicas (`turnpike.shared_state.replicas`).
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

    /// The name of the service of the replicas.
    public var group: String { access.group }

    /// The store.
    public var store: any SharedStore { access.store }

    /// The longest time for an operation, after which the gate decides locally.
    public var timeLimit: Duration { access.timeLimit }

    /// The fixed number of replicas, or the number from the last heartbeats.
    public var replicas: Int { access.replicas }

    /// Whether operations are sent to the store, which is false after several failures in a row.
    public var isReachable: Bool { access.isReachable }

    /// Flushes the meter.
    public func flush() async { await access.flush() }
}
