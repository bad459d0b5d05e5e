// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// What the latest answer of the store lets a replica expect: when permits come, when it asks again,
/// and for how many.
///
/// Times are nanoseconds of the monotonic clock.
struct RefillForecast {
    /// When the store is asked again, after it had no permits or no answer.
    private(set) var retryAt = Int64.min
    /// How many permits the next request may ask for beyond a portion, since there were enough.
    private(set) var grown = 0
    /// Until when no permit comes.
    private(set) var scarceUntil = Int64.min
    // Until when that is believed: permits may be returned, or the store may begin anew.
    private var knownUntil = Int64.min

    private static let firstProbe: Int64 = 20_000_000
    private static let pauseAfterLie = Duration.milliseconds(100)
    // While calls wait for permits, the store is asked at least this often.
    private static let longestPause = Duration.seconds(10)

    /// Whether the store may be asked now.
    func mayAsk(at now: Int64) -> Bool { now >= retryAt }

    /// Whether it is known that no permit comes yet.
    func isScarce(at now: Int64) -> Bool { scarceUntil > now && now < knownUntil }

    /// The store has granted permits.
    /// - Parameters:
    ///   - permits: How many.
    ///   - last: When the last of all reserved permits is due.
    ///   - now: When the answer came.
    mutating func granted(_ permits: Int, last: Int64, at now: MonotonicInstant) {
        let isLater = last > now.nanoseconds
        retryAt = .min
        scarceUntil = isLater ? last : .min
        knownUntil = now.advanced(by: Self.longestPause).nanoseconds
        grown = isLater ? 0 : min(max(grown, permits) * 2, 1 << 20)
    }

    /// The store has no permits before a time has passed, and can reserve them a little earlier.
    mutating func exhausted(_ after: Duration, reach: Duration, at now: MonotonicInstant) {
        grown = 0
        scarceUntil = now.advanced(by: after).nanoseconds
        knownUntil = now.advanced(by: Self.longestPause).nanoseconds
        // A store that could have reserved them has lied, and may go on to: it costs few commands.
        pause(
            after - reach, atLeast: after > reach ? .milliseconds(1) : Self.pauseAfterLie,
            from: now)
    }

    /// The store grants nothing while a cool-down lasts.
    ///
    /// What this replica has noted of the cool-down may be shorter.
    mutating func coolingDown(_ left: Duration, at now: MonotonicInstant) {
        pause(left, atLeast: .milliseconds(10), from: now)
    }

    /// The store had no answer, and may be asked again at a moment.
    mutating func failed(nextAdmission: MonotonicInstant?, at now: MonotonicInstant) {
        grown = 0
        retryAt = max(
            nextAdmission?.nanoseconds ?? .min, now.nanoseconds.addingSaturating(Self.firstProbe))
    }

    private mutating func pause(
        _ time: Duration, atLeast shortest: Duration, from now: MonotonicInstant
    ) { retryAt = now.advanced(by: min(max(time, shortest), Self.longestPause)).nanoseconds }
}
