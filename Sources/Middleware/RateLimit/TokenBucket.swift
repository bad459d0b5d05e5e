// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A token bucket with a line of waiting calls.
///
/// Instead of tokens it stores the time at which the next token is due (the generic cell rate
/// algorithm, ITU-T I.371), which is exact to the nanosecond.
struct TokenBucket: OriginEntry {
    /// The time between two tokens, and how far calls may run ahead of it.
    struct Rate: Sendable, Hashable {
        let interval: Int64
        let tolerance: Int64

        init(perSecond: Double, burst: Int) {
            // A value that is not a valid rate becomes the slowest rate.
            let wanted = (1e9 / (perSecond > 1e-6 ? perSecond : 1e-6)).rounded(.up)
            interval = Int64(Swift.max(wanted, 1))
            let (product, overflow) = interval.multipliedReportingOverflow(
                by: Int64(Swift.max(burst, 1) - 1))
            tolerance = overflow ? .max / 4 : Swift.min(product, .max / 4)
        }
    }

    // When the next token would be due if calls came evenly, in nanoseconds of the clock.
    private var due: Int64 = .min / 4
    var line = WaitingLine()
    // Wakes the first waiter in line.
    var timer: (any TimerToken)?
    /// When it was last said that calls wait for this bucket.
    var toldAt: MonotonicInstant?

    var isInUse: Bool { !line.isEmpty }

    /// Takes a token, if there is one.
    mutating func take(at now: MonotonicInstant, _ rate: Rate) -> Bool {
        guard due - rate.tolerance <= now.nanoseconds else { return false }
        due = max(due, now.nanoseconds).addingSaturating(rate.interval)
        return true
    }

    /// How long a call waits for a token if a number of others wait in front of it.
    func wait(behind others: Int, at now: MonotonicInstant, _ rate: Rate) -> Duration {
        let (ahead, overflow) = rate.interval.multipliedReportingOverflow(by: Int64(others))
        let due = max(due - rate.tolerance, now.nanoseconds)
            .addingSaturating(overflow ? .max / 4 : ahead)
        return .nanoseconds(max(due - now.nanoseconds, 0))
    }
}

extension Int64 {
    fileprivate func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max / 2 : Swift.min(sum, .max / 2)
    }
}
