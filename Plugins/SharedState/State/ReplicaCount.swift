// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// How many replicas there are, as heartbeats have counted them.
struct ReplicaCount {
    private var latest: Int?
    private var previous: Int?
    private var beatAt: MonotonicInstant?
    private var isBeating = false

    /// How often a replica says that it is there.
    static let interval = Duration.seconds(1)
    /// The same while the count grows: replicas that start together do not see each other at first.
    static let firstInterval = Duration.milliseconds(200)
    /// The number before the first count.
    ///
    /// A replica that starts while the store is away must not take the whole quota.
    static let assumed = 10
    /// The most replicas that are believed.
    ///
    /// With more, the share of each would be next to nothing, and calls would wait for days.
    static let most = 10_000
    /// How long a replica counts if it stops.
    static let lifetime = Duration.seconds(3)

    /// The number; nil before the first count.
    ///
    /// It is the larger one of the latest two counts. After an outage of the store the first count
    /// has only those replicas that came back first.
    var known: Int? { latest.map { max($0, previous ?? $0) } }

    /// The number, if two counts have confirmed it; replicas that start together do not see each
    /// other at first.
    var confirmed: Int? { previous == nil ? nil : known }

    private var isSettled: Bool { latest != nil && previous.map { $0 >= latest ?? 0 } ?? false }

    /// Whether a heartbeat is due, which must then be followed by ``end(_:)``.
    mutating func begin(at now: MonotonicInstant) -> Bool {
        // One that never ends must not keep all others from being sent.
        let pause = isBeating ? Self.lifetime : isSettled ? Self.interval : Self.firstInterval
        if let beatAt, beatAt.duration(to: now) < pause { return false }
        isBeating = true
        beatAt = now
        return true
    }

    /// Ends a heartbeat.
    /// - Parameter count: How many replicas there are; nil if the store had no answer. One
    ///   beyond ``most`` is none.
    mutating func end(_ count: Int?) {
        isBeating = false
        guard let count, count <= Self.most else { return }
        previous = latest
        latest = max(count, 1)
    }
}
