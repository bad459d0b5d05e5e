// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The number of replicas, counted by heartbeats.
struct ReplicaCount {
    private var latest: Int?
    private var previous: Int?
    private var beatAt: MonotonicInstant?
    private var isBeating = false

    /// How often a replica reports that it is running.
    static let interval = Duration.seconds(1)
    /// The interval while the count grows: replicas that start together miss one another first.
    static let firstInterval = Duration.milliseconds(200)
    /// The number of replicas before the first count.
    ///
    /// A replica that starts while the store is unreachable must not take the whole quota.
    static let assumed = 10
    /// A higher number of replicas is not believed.
    ///
    /// With a higher number, each replica's share would be almost zero, and calls would wait for
    /// days.
    static let most = 10_000
    /// A replica counts for this time after its last heartbeat.
    static let lifetime = Duration.seconds(3)

    /// The number of replicas; nil before the first count.
    ///
    /// The number is the larger of the last two counts. The first count after an outage of the
    /// store contains only the replicas that came back first.
    var known: Int? { latest.map { max($0, previous ?? $0) } }

    /// The number of replicas, once two counts have confirmed it.
    ///
    /// Replicas that start together do not see each other at first.
    var confirmed: Int? { previous == nil ? nil : known }

    private var isSettled: Bool { latest != nil && previous.map { $0 >= latest ?? 0 } ?? false }

    /// Whether a heartbeat is due; if so, the caller must call ``end(_:)`` later.
    mutating func begin(at now: MonotonicInstant) -> Bool {
        // A heartbeat without an end must not block all later heartbeats.
        let pause = isBeating ? Self.lifetime : isSettled ? Self.interval : Self.firstInterval
        if let beatAt, beatAt.duration(to: now) < pause { return false }
        isBeating = true
        beatAt = now
        return true
    }

    /// Ends a heartbeat; a count above ``most`` is ignored, and nil means that the store gave no
    /// answer.
    mutating func end(_ count: Int?) {
        isBeating = false
        guard let count, count <= Self.most else { return }
        previous = latest
        latest = max(count, 1)
    }
}
