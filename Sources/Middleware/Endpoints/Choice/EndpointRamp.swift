// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The slow starts of a group's members.
///
/// A member that has just come or returned has cold caches and no connections. Its weight grows in
/// proportion to its age, from a tenth at first to all of it at the end of the slow start, as in
/// Envoy. The weights count relative to that of the oldest member: where all are new, none is held
/// back.
struct EndpointRamp: Sendable {
    // When each slow start began; empty if there is none.
    private let starts: [Int64]
    private let oldest: Int64
    private let end: Int64
    private let nanoseconds: Double

    init(_ members: [EndpointMember], _ time: Duration) {
        nanoseconds = time / .nanoseconds(1)
        let starts = members.map(\.start)
        oldest = starts.min() ?? .min
        let newest = starts.max() ?? .min
        let isNeeded = newest > oldest && nanoseconds >= 1
        self.starts = isNeeded ? starts : []
        end =
            isNeeded
            ? MonotonicInstant(nanoseconds: newest).advanced(by: time).nanoseconds : .min
    }

    /// Whether the slow start of a member has not ended.
    func isRunning(at now: Int64) -> Bool { now < end }

    /// The part of its weight that a member has, relative to the oldest.
    func share(_ index: Int, at now: Int64) -> Double {
        isRunning(at: now) ? part(starts[index], now) / part(oldest, now) : 1
    }

    private func part(_ start: Int64, _ now: Int64) -> Double {
        let age = (Double(now) - Double(start)) / nanoseconds
        return min(max(age, 0.1), 1)
    }
}
