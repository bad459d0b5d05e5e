import TurnpikeCore

/// A token bucket that waits in line, as a schedule: instead of tokens it keeps the time at which
/// the next one is due (the generic cell rate algorithm, ITU-T I.371), which is exact to the
/// nanosecond.
package struct TokenBucket: OriginEntry {
    /// The time between two tokens, and how far calls may run ahead of it.
    package struct Rate: Sendable, Hashable {
        package let interval: Int64
        let tolerance: Int64

        package init(perSecond: Double, burst: Int) {
            // What is no number is the slowest rate.
            let wanted = (1e9 / (perSecond > 1e-6 ? perSecond : 1e-6)).rounded(.up)
            interval = Int64(Swift.max(wanted, 1))
            let (product, overflow) = interval.multipliedReportingOverflow(
                by: Int64(Swift.max(burst, 1) - 1))
            tolerance = overflow ? .max / 4 : Swift.min(product, .max / 4)
        }
    }

    // When the next token would be due if calls came evenly, in the clock's nanoseconds.
    private var due: Int64 = .min / 4
    var line = WaitingLine()
    // Wakes the first in line.
    var timer: (any TimerToken)?

    var isInUse: Bool { !line.isEmpty }

    /// Takes a token, if there is one.
    mutating func take(at now: MonotonicInstant, _ rate: Rate) -> Bool {
        guard due - rate.tolerance <= now.nanoseconds else { return false }
        due = max(due, now.nanoseconds).addingSaturating(rate.interval)
        return true
    }

    /// How long it takes until a token is there for one who stands behind others in line.
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
