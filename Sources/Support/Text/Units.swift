// SPDX-License-Identifier: Apache-2.0

/// Converts numbers of bytes into text for people.
public enum ByteCount {
    /// Returns the bytes in the largest binary unit with a whole part, to a tenth: `1.5 MiB`.
    public static func text(_ bytes: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        if bytes < 1024 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var value = Double(bytes) / 1024
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = (value * 10).rounded() / 10
        let isWhole = tenths == tenths.rounded()
        return (isWhole ? String(Int64(tenths)) : String(tenths)) + " " + units[unit]
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to 64 bits (292 years).
    public var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration for people, with three significant digits and all whole seconds: `312 µs`,
    /// `12.5 ms`, `1.42 s`, `2662 s`.
    public var text: String {
        let (whole, rest) = components
        // The calculation is exact in picoseconds, because rounding must not cross a limit below.
        let (seconds, micros) = (whole.magnitude, Double(rest.magnitude / 1_000_000) / 1e6)
        let sign = self < .zero ? "-" : ""
        if seconds == 0 {
            if micros < 0.5 { return "0 s" }
            if micros < 999.5 { return sign + "\(Int(micros.rounded())) µs" }
            if micros < 999_500 { return sign + Self.digits(micros / 1000) + " ms" }
        }
        let value = Double(seconds) + micros / 1e6
        if value < 99.95 { return sign + Self.digits(value) + " s" }
        return sign + "\(seconds + (micros >= 500_000 ? 1 : 0)) s"
    }

    // `String(format:)` is not used, because the result depends on the locale.
    private static func digits(_ value: Double) -> String {
        let scale = value < 9.995 ? 100 : value < 99.95 ? 10 : 1
        let scaled = Int((value * Double(scale)).rounded())
        var places = String(scale + scaled % scale).dropFirst()
        while places.last == "0" { places.removeLast() }
        return "\(scaled / scale)" + (places.isEmpty ? "" : "." + places)
    }

    /// The duration in seconds.
    public var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

extension Range<Int64> {
    /// The number of bytes in the range.
    public var count64: Int64 { upperBound - lowerBound }
}

extension Int64 {
    /// Creates a time in nanoseconds, limited to a quarter of the range of `Int64`.
    public init(nanoseconds: Double) {
        self = nanoseconds < 2e18 ? (nanoseconds > -2e18 ? Int64(nanoseconds) : .min / 4) : .max / 4
    }

    /// Returns the sum, limited to half of the range of `Int64`.
    public func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        if overflow { return other > 0 ? .max / 2 : .min / 2 }
        return Swift.min(Swift.max(sum, .min / 2), .max / 2)
    }
}
