// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date

/// The source of all times in calls: deadlines, back-off, expiry, measurements.
///
/// A client has one, and gates access it with ``Context/timeSource``. A test can replace it with
/// its own clock and never has to sleep.
public protocol TimeSource: Sendable {
    /// The current time on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// The current wall-clock time, for HTTP dates.
    var date: Date { get }

    /// Runs a handler once after a delay, unless its token is cancelled first.
    ///
    /// The handler runs on a thread of the time source and must return quickly. With a delay of
    /// zero or less it runs as soon as possible, but never within this call.
    /// - Parameters:
    ///   - delay: The minimum time to wait.
    ///   - handler: The handler.
    /// - Returns: A token. Releasing it does not cancel the timer.
    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken
}
