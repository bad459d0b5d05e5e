// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport
import TurnpikeTraffic

/// The forecast after the last answer of the store, with the next request of the replica.
///
/// Times are nanoseconds of the monotonic clock.
struct RefillForecast {
    /// The time of the next request after a missing answer or an answer without permits.
    private(set) var retryAt = Int64.min
    /// The number of permits beyond a portion that the next request may have after a full answer.
    private(set) var grown = 0
    /// The time before which no permit is available.
    private(set) var scarceUntil = Int64.min
    // The end of the forecast, because permits may be returned or the store may restart.
    private var knownUntil = Int64.min

    private static let firstProbe: Int64 = 20_000_000
    private static let pauseAfterLie = Duration.milliseconds(100)
    // The longest time between two requests while calls wait for permits.
    private static let longestPause = Duration.seconds(10)

    func mayAsk(at now: Int64) -> Bool { now >= retryAt }

    func isScarce(at now: Int64) -> Bool { scarceUntil > now && now < knownUntil }

    /// Handles granted permits, the last of which is due at the time `last`.
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
        // If `after` is within `reach`, the store should have reserved permits. A store with this
        // fault gets only rare requests.
        pause(
            after - reach, atLeast: after > reach ? .milliseconds(1) : Self.pauseAfterLie,
            from: now)
    }

    /// Handles a cool-down of the store, which may be longer than this replica's cool-down.
    mutating func coolingDown(_ left: Duration, at now: MonotonicInstant) {
        pause(left, atLeast: .milliseconds(10), from: now)
    }

    /// Handles a missing answer, after which the next request may be sent at `nextAdmission`.
    mutating func failed(nextAdmission: MonotonicInstant?, at now: MonotonicInstant) {
        grown = 0
        retryAt = max(
            nextAdmission?.nanoseconds ?? .min, now.nanoseconds.addingSaturating(Self.firstProbe))
    }

    private mutating func pause(
        _ time: Duration, atLeast shortest: Duration, from now: MonotonicInstant
    ) { retryAt = now.advanced(by: min(max(time, shortest), Self.longestPause)).nanoseconds }
}
