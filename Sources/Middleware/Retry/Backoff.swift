// SPDX-License-Identifier: Apache-2.0

/// The wait before another attempt.
///
/// By default, the wait has full jitter: a random part of a bound that doubles with each attempt.
/// Without randomness, clients that failed at the same time would all try again at the same time.
/// Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
public struct Backoff: Sendable, Hashable {
    /// The kind of randomness of a wait.
    public enum Jitter: Sendable, Hashable {
        /// A wait between zero and the bound, with a uniform distribution.
        case full
        /// A wait between the base and three times the previous wait, with a uniform distribution.
        ///
        /// The wait never exceeds the highest bound. The wait depends on the previous wait, not on
        /// the number of attempts.
        case decorrelated
        /// The bound itself, without randomness.
        case none
    }

    /// The bound of the wait before the second attempt.
    public var base: Duration
    /// The bound of the wait before the second attempt after a 429 or 503.
    public var throttledBase: Duration
    /// The highest bound of a wait.
    public var max: Duration
    /// The kind of randomness of the wait.
    public var jitter: Jitter

    /// Creates a back-off.
    /// - Parameters:
    ///   - base: The bound of the first wait. The bound doubles with each attempt.
    ///   - throttledBase: The bound of the first wait after a 429 or 503; nil
    ///     means `base`.
    ///   - max: The highest bound.
    ///   - jitter: The kind of randomness of the wait.
    public init(
        base: Duration, throttledBase: Duration? = nil, max: Duration = .seconds(20),
        jitter: Jitter = .full
    ) {
        self.base = base
        self.throttledBase = throttledBase ?? base
        self.max = max
        self.jitter = jitter
    }

    /// A wait of 50 ms, or of 1 s after a 429 or 503, that doubles up to 20 s, with full jitter.
    public static let standard = Backoff(base: .milliseconds(50), throttledBase: .seconds(1))

    /// Returns a back-off with the same wait before each attempt, even after a 429 or 503.
    ///
    /// Clients that failed at the same time try again at the same time, because the wait is not
    /// random. Use this back-off for a single client, for example for polling. If `Retry-After` is
    /// longer than this wait, the gate waits for `Retry-After`. In a stack file, set `base` and
    /// `max` to the wait, and `jitter` to `none`.
    public static func constant(_ wait: Duration) -> Backoff {
        Backoff(base: wait, max: wait, jitter: .none)
    }

    /// Returns the wait before the next attempt.
    /// - Parameters:
    ///   - attempts: The number of attempts so far.
    ///   - isThrottled: Whether the server asked the client to slow down.
    ///   - previous: The wait before the latest attempt, or nil if there was no wait.
    ///   - unit: A random number in 0..<1.
    /// - Returns: The wait.
    public func delay(
        afterAttempt attempts: Int, isThrottled: Bool, previous: Duration? = nil, unit: Double
    ) -> Duration {
        let base = Swift.max(Swift.min(isThrottled ? throttledBase : base, max), .zero)
        switch jitter {
        case .full: return bound(from: base, attempts) * unit
        case .none: return bound(from: base, attempts)
        case .decorrelated:
            let last = Swift.min(Swift.max(previous ?? base, base), max)
            return base + (Swift.min(last * 3, max) - base) * unit
        }
    }

    func longestDelay(afterAttempt attempts: Int, previous: Duration?) -> Duration {
        let delays = [false, true].map {
            delay(afterAttempt: attempts, isThrottled: $0, previous: previous, unit: 1)
        }
        return Swift.max(delays[0], delays[1])
    }

    private func bound(from base: Duration, _ attempts: Int) -> Duration {
        var bound = base
        let doublings = Swift.min(Swift.max(attempts - 1, 0), 40)
        for _ in 0..<doublings where bound < max { bound = Swift.min(bound * 2, max) }
        return bound
    }
}
