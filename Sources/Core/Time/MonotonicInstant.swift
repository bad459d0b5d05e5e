// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A point in time on a clock that never goes back.
///
/// Only differences are meaningful.
public struct MonotonicInstant: Hashable, Sendable, InstantProtocol {
    /// Nanoseconds since an origin that the time source chooses.
    public let nanoseconds: Int64

    /// Creates an instant, for time sources.
    /// - Parameter nanoseconds: The distance from the origin of the time source.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns the instant after a duration; clamped to 292 years around the origin.
    public func advanced(by duration: Duration) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Self(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns the time from this instant to another.
    public func duration(to other: Self) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other > self ? .max : .min) : difference)
    }

    /// Whether one instant comes before another.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}
