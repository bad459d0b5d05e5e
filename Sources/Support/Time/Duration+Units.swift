// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits (292 years).
    public var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration in seconds with microsecond precision: `0.3 s`.
    public var text: String {
        let (seconds, attoseconds) = components
        var digits = String(abs(attoseconds) / 1_000_000_000_000 + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        let sign = self < .zero && seconds == 0 ? "-" : ""
        return sign + "\(seconds)" + (digits.isEmpty ? "" : "." + digits) + " s"
    }

    /// The duration in milliseconds, rounded to tenths: `12.5 ms`.
    public var millisecondText: String {
        let tenths = (inSeconds * 10_000).rounded() / 10
        return "\(tenths) ms"
    }

    /// The duration in seconds.
    public var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
