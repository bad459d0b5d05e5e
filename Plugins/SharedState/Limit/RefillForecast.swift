// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport
import TurnpikeTraffic

/// The forecast after the last answer of the store: when permits come, and when the replica asks
/// next, and for how many permits.
///
/// Times are nanoseconds of the monotonic clock.
struct RefillForecast {
    /// When the store is asked again, after it had no permits or did not answer.
    private(set) var retryAt = Int64.min
    /// How many permits beyond a portion the next request may ask for, after a full answer.
    private(set) var grown = 0
    /// No permit comes before this time.
    private(set) var scarceUntil = Int64.min
    // The forecast ends at this time, because permits may be returned or the store may restart.
    private var knownUntil = Int64.min

    private static let firstProbe: Int64 = 20_000_000
    private static let pauseAfterLie = Duration.milliseconds(100)
    // While calls wait for permits, the store is asked at least this often.
    private static let longestPause = Duration.seconds(10)

    func mayAsk(at now: Int64) -> Bool { now >= retryAt }

    func isScarce(at now: Int64) -> Bool { scarceUntil > now && now < knownUntil }

    /// Handles granted permits, of which the last is due at a time.
    mutating func granted(_ permits: Int, last: Int64, at now: MonotonicInstant) {
        let isLater = last > now.nanoseconds
        retryAt = .min
        scarceUntil = isLater ? last : .min
        knownUntil = now.advanced(by: Self.longestPause).nanoseconds
        grown = isLater ? 0 : min(max(grown, permits) * 2, 1 << 20)
    }

    /// Handles an answer without permits.
    ///
    /// The store can reserve permits at most `reach` before the permits are due.
    mutating func exhausted(_ after: Duration, reach: Duration, at now: MonotonicInstant) {
        grown = 0
        scarceUntil = now.advanced(by: after).nanoseconds
        knownUntil = now.advanced(by: Self.longestPause).nanoseconds
        // A correct store could have reserved permits here. A store without this reservation has a
        // fault, and is asked rarely.
        pause(
            after - reach, atLeast: after > reach ? .milliseconds(1) : Self.pauseAfterLie,
            from: now)
    }

    /// Handles a cool-down, in which the store grants no permits; this replica may know only a
    /// shorter cool-down.
    mutating func coolingDown(_ left: Duration, at now: MonotonicInstant) {
        pause(left, atLeast: .milliseconds(10), from: now)
    }

    /// Handles a missing answer; the store may be asked again at `nextAdmission`.
    mutating func failed(nextAdmission: MonotonicInstant?, at now: MonotonicInstant) {
        grown = 0
        retryAt = max(
            nextAdmission?.nanoseconds ?? .min, now.nanoseconds.addingSaturating(Self.firstProbe))
    }

    private mutating func pause(
        _ time: Duration, atLeast shortest: Duration, from now: MonotonicInstant
    ) { retryAt = now.advanced(by: min(max(time, shortest), Self.longestPause)).nanoseconds }
}
