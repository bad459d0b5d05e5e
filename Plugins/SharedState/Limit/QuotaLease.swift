// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// How many permits a replica holds without a call for them, by what its calls have used lately.
///
/// Times are nanoseconds of the monotonic clock.
struct QuotaLease {
    /// How many permits it should hold.
    private(set) var size = 0
    /// The most that it may hold.
    private(set) var most = 0
    /// When idle permits are looked at again.
    private(set) var checkAt = Int64.max
    // The permits used since a moment, to find the size, and since the latest look at idle permits.
    private var used = 0
    private var usedSince = Int64.min
    private var usedSinceCheck = 0
    private var latestCost = 1

    // Idle permits are returned after this time.
    private static let idleTime: Int64 = 100_000_000

    /// Counts permits that a call has used.
    mutating func count(_ cost: Int) {
        used = min(used + cost, 1 << 40)
        usedSinceCheck = min(usedSinceCheck + cost, 1 << 40)
        latestCost = cost
    }

    /// Holds nothing until permits are used again.
    mutating func forget() { (size, used, usedSinceCheck) = (0, 0, 0) }

    /// Whether so few permits are idle that others may be asked for.
    func isLow(_ idle: Int) -> Bool { size > 0 && idle * 4 <= size }

    /// How many permits are to be asked for when so many are idle; nil if none.
    func wanted(_ idle: Int) -> Int? {
        idle >= 0 && isLow(idle) && usedSinceCheck > 0 ? size - idle : nil
    }

    /// Learns how many permits are used in the time of a lease.
    mutating func measure(_ plan: QuotaPlan, replicas: Int?, at now: Int64) {
        most = plan.maxLease(replicas)
        let (time, overflow) = now.subtractingReportingOverflow(usedSince)
        // Too few permits for a call are of no use to it.
        let wanted = latestCost > most ? 0 : plan.lease(forUse: used, in: overflow ? .max : time)
        if overflow || time >= 10_000_000 {
            size = min(wanted, most)
            used = 0
            usedSince = now
        } else {
            size = min(max(wanted, size), most)
        }
    }

    /// How many of the idle permits were not needed for a while.
    mutating func unneeded(of idle: Int, at now: Int64) -> Int {
        if idle > 0, now < checkAt { return 0 }
        checkAt = now.addingSaturating(Self.idleTime)
        if idle == 0 { return 0 }
        defer { usedSinceCheck = 0 }
        return max(idle - usedSinceCheck, 0)
    }
}
