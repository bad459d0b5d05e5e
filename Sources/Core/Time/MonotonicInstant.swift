/// A point on a clock that never goes back; only differences have a meaning.
public struct MonotonicInstant: Hashable, Sendable, InstantProtocol {
    /// Nanoseconds since an origin that the time source chooses.
    package let nanoseconds: Int64

    /// Creates an instant at a distance from the time source's origin.
    /// - Parameter nanoseconds: The distance; for time sources alone.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The instant that far away; distances beyond 292 years are cut off.
    public func advanced(by duration: Duration) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Self(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The time from this instant to another.
    public func duration(to other: Self) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other > self ? .max : .min) : difference)
    }

    /// Whether one instant comes before another.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Duration {
    /// The duration in nanoseconds, cut off at what 64 bits hold (292 years).
    package var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration as a text in seconds, to the microsecond: `0.3 s`.
    package var text: String {
        let (seconds, attoseconds) = components
        var digits = String(abs(attoseconds) / 1_000_000_000_000 + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        let sign = self < .zero && seconds == 0 ? "-" : ""
        return sign + "\(seconds)" + (digits.isEmpty ? "" : "." + digits) + " s"
    }

    /// The duration in seconds.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
