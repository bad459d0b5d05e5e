// SPDX-License-Identifier: Apache-2.0

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
