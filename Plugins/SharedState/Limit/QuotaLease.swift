// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport
import TurnpikeTraffic

/// The number of idle permits that a replica holds.
///
/// The number depends on the recent use by the replica's calls. Times are nanoseconds of the
/// monotonic clock.
struct QuotaLease {
    private(set) var size = 0
    private(set) var most = 0
    /// The time of the next check of the idle permits.
    private(set) var checkAt = Int64.max
    // The numbers of permits that were used in the current measurement and since the last check.
    private var used = 0
    private var usedSince = Int64.min
    private var usedSinceCheck = 0
    private var latestCost = 1

    // The time in nanoseconds after which idle permits are returned.
    private static let idleTime: Int64 = 100_000_000

    mutating func count(_ cost: Int) {
        used = min(used + cost, 1 << 40)
        usedSinceCheck = min(usedSinceCheck + cost, 1 << 40)
        latestCost = cost
    }

    /// Resets the lease to zero permits until permits are used again.
    mutating func forget() { (size, used, usedSinceCheck) = (0, 0, 0) }

    /// Whether few permits are idle, and the replica may request more.
    func isLow(_ idle: Int) -> Bool { size > 0 && idle * 4 <= size }

    /// Returns the number of permits to request beside `idle` idle permits, or nil for no request.
    func wanted(_ idle: Int) -> Int? {
        idle >= 0 && isLow(idle) && usedSinceCheck > 0 ? size - idle : nil
    }

    /// Measures the number of permits that calls use in the time of a lease.
    mutating func measure(_ plan: QuotaPlan, replicas: Int?, at now: Int64) {
        most = plan.maxLease(replicas)
        let (time, overflow) = now.subtractingReportingOverflow(usedSince)
        // A lease with fewer permits than one call needs is useless.
        let wanted = latestCost > most ? 0 : plan.lease(forUse: used, in: overflow ? .max : time)
        if overflow || time >= 10_000_000 {
            size = min(wanted, most)
            used = 0
            usedSince = now
        } else {
            size = min(max(wanted, size), most)
        }
    }

    /// Returns the number of idle permits that were not needed for `idleTime`.
    mutating func unneeded(of idle: Int, at now: Int64) -> Int {
        if idle > 0, now < checkAt { return 0 }
        checkAt = now.addingSaturating(Self.idleTime)
        if idle == 0 { return 0 }
        defer { usedSinceCheck = 0 }
        return max(idle - usedSinceCheck, 0)
    }
}
