// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// The pauses after refreshes that failed, one after the other.
///
/// The first failure may be an accident, so the next call tries again at once. From the second
/// failure on the pause grows, with jitter, so that the callers of an unavailable endpoint do not
/// all come back together. A wait that the endpoint asks for counts from the first failure on.
struct RefreshPauses {
    private var failures = 0
    private var end: MonotonicInstant?

    private static let first = 0.25
    private static let longest = 30.0
    /// A longer wait that an endpoint asks for is cut to this.
    private static let longestWish = Duration.seconds(300)

    /// The time until the next refresh may begin; nil if it may begin now.
    func timeLeft(at now: MonotonicInstant) -> Duration? {
        guard let end, now < end else { return nil }
        return now.duration(to: end)
    }

    /// Notes a failure.
    /// - Parameters:
    ///   - error: The cause, which may say how long to wait.
    ///   - date: The date, for a `Retry-After` that names one.
    ///   - now: When it failed.
    ///   - unit: A random number from 0 to 1.
    mutating func failed(
        _ error: any Error, at date: Date, _ now: MonotonicInstant, unit: Double
    ) {
        failures += 1
        let grown =
            failures < 2 ? 0 : min(Self.first * pow(2, Double(min(failures - 2, 16))), Self.longest)
        let pause = Duration.seconds(grown * (0.5 + unit / 2))
        end = now.advanced(by: max(pause, Self.wish(of: error, at: date)))
    }

    // The wish of the innermost error that has one.
    private static func wish(of error: any Error, at date: Date) -> Duration {
        var cause: (any Error)? = error
        var wish: Duration?
        // Causes of causes, a few of them.
        for _ in 0..<8 where wish == nil {
            if let error = cause as? ClientError {
                wish = error.retryAfter ?? error.response?.headers.retryAfter(at: date)
                cause = error.underlying
            } else {
                wish = (cause as? OAuthError)?.retryAfter
                cause = nil
            }
        }
        return min(max(wish ?? .zero, .zero), longestWish)
    }
}
