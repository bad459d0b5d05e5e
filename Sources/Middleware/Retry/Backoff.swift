// SPDX-License-Identifier: Apache-2.0

/// How long to wait before another attempt.
///
/// By default with full jitter: a random part of a bound that doubles with each attempt (Brooker,
/// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). Clients that failed at the same
/// time then do not return at the same time.
public struct Backoff: Sendable, Hashable {
    /// How the wait is randomized.
    public enum Jitter: Sendable, Hashable {
        /// Uniformly between zero and the bound.
        case full
        /// Uniformly between the base and three times the previous wait, up to the highest bound.
        /// The wait grows with the earlier random waits and not with the number of attempts.
        case decorrelated
        /// The bound itself, without randomness.
        case none
    }

    /// The bound before the second attempt.
    public var base: Duration
    /// The bound before the second attempt after a 429 or 503.
    public var throttledBase: Duration
    /// The highest bound.
    public var max: Duration
    /// How the wait is randomized.
    public var jitter: Jitter

    /// Creates a back-off.
    /// - Parameters:
    ///   - base: The bound before the second attempt; it doubles with each attempt.
    ///   - throttledBase: The same bound after a 429 or 503; nil means `base`.
    ///   - max: The highest bound.
    ///   - jitter: How the wait is randomized.
    public init(
        base: Duration, throttledBase: Duration? = nil, max: Duration = .seconds(20),
        jitter: Jitter = .full
    ) {
        self.base = base
        self.throttledBase = throttledBase ?? base
        self.max = max
        self.jitter = jitter
    }

    /// 50 ms, or 1 s after a 429 or 503, doubled up to 20 s, with full jitter.
    public static let standard = Backoff(base: .milliseconds(50), throttledBase: .seconds(1))

    /// The same wait before each attempt, after a 429 or 503 too.
    ///
    /// The wait is not randomized, so clients that failed together return together. Use it for a
    /// single client, for example if it polls. A longer `Retry-After` still counts. In a stack
    /// file, `base` and `max` are the wait, and `jitter` is `none`.
    public static func constant(_ wait: Duration) -> Backoff {
        Backoff(base: wait, max: wait, jitter: .none)
    }

    /// The wait before the next attempt.
    /// - Parameters:
    ///   - attempts: How many attempts have been made.
    ///   - isThrottled: Whether the server asked the client to slow down.
    ///   - previous: The wait before the latest attempt; nil if there was no wait.
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

    /// The longest wait before the next attempt, with any jitter.
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
