public import struct Foundation.Date

/// Where all time in a call comes from: deadlines, back-off, expiry, measurements.
///
/// A client has one; gates reach it by ``Context/timeSource``, so that a test can put a clock of
/// its own in its place and never sleep.
public protocol TimeSource: Sendable {
    /// The present on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// The present on the wall clock, for what HTTP writes as a date.
    var date: Date { get }

    /// Runs a handler once after a delay, unless its token is cancelled first.
    ///
    /// The handler runs on a thread of the time source and must return at once. A delay of zero or
    /// less runs it as soon as can be, never inside this call.
    /// - Parameters:
    ///   - delay: How long to wait; never less passes.
    ///   - handler: What to run.
    /// - Returns: A token; dropping it does not cancel.
    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken
}

/// A handler that waits for its time.
public protocol TimerToken: AnyObject, Sendable {
    /// Keeps the handler from running, if it has not begun.
    ///
    /// Cancelling twice has no effect.
    func cancel()
}
