// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The number of replicas, counted by heartbeats.
struct ReplicaCount {
    private var latest: Int?
    private var previous: Int?
    private var beatAt: MonotonicInstant?
    private var isBeating = false

    /// The time between two heartbeats of a replica.
    static let interval = Duration.seconds(1)
    /// The interval while the count grows, because new replicas do not find each other at first.
    static let firstInterval = Duration.milliseconds(200)
    /// The number of replicas before the first count.
    ///
    /// A replica that starts while the store is unreachable must not take the whole quota.
    static let assumed = 10
    /// The highest number of replicas that is accepted.
    ///
    /// With a higher number, each replica's share would be almost zero, and calls would wait for
    /// days.
    static let most = 10_000
    /// The time after the last heartbeat for which a replica counts.
    static let lifetime = Duration.seconds(3)

    /// The number of replicas, or nil before the first count.
    ///
    /// The number is the larger of the last two counts. The first count after an outage of the
    /// store contains only the replicas that have returned first.
    var known: Int? { latest.map { max($0, previous ?? $0) } }

    /// The number of replicas after two counts, or nil.
    ///
    /// Replicas that start together are not in each other's first count.
    var confirmed: Int? { previous == nil ? nil : known }

    private var isSettled: Bool { latest != nil && previous.map { $0 >= latest ?? 0 } ?? false }

    /// Returns whether a heartbeat is due, which the caller must end with ``end(_:)``.
    mutating func begin(at now: MonotonicInstant) -> Bool {
        // A heartbeat that never ends must not block all later heartbeats.
        let pause = isBeating ? Self.lifetime : isSettled ? Self.interval : Self.firstInterval
        if let beatAt, beatAt.duration(to: now) < pause { return false }
        isBeating = true
        beatAt = now
        return true
    }

    /// Ends a heartbeat with a count, or nil for a missing answer, and ignores a count above
    /// ``most``.
    mutating func end(_ count: Int?) {
        isBeating = false
        guard let count, count <= Self.most else { return }
        previous = latest
        latest = max(count, 1)
    }
}
