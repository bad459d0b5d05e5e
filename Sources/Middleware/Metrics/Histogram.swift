// SPDX-License-Identifier: Apache-2.0

/// Counts of values by bucket.
public struct Histogram: Sendable, Hashable {
    /// The upper bounds of the buckets, in ascending order; a last bucket takes the values above.
    public let bounds: [Double]
    /// The number of values in each bucket; there is one more bucket than bounds.
    public private(set) var counts: [Int]
    /// The sum of all values.
    public private(set) var sum: Double = 0

    /// Creates an empty histogram.
    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// The bounds that OpenTelemetry prescribes for `http.client.request.duration`, in seconds.
    static let durationBounds = [
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]

    /// The bounds for durations of gates and transports, in seconds; .NET uses the same for
    /// `http.client.connection.duration`.
    static let longDurationBounds = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
    ]

    /// Bounds for sizes in bytes: powers of eight from 64.
    static let sizeBounds = [
        64, 512, 4096, 32_768, 262_144, 2_097_152, 16_777_216, 134_217_728.0,
    ]

    /// The number of values.
    public var count: Int { counts.reduce(0, +) }

    /// Counts a value.
    mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }

    /// The lowest bound that covers at least a share of the values; infinity beyond the last bound.
    func quantile(_ part: Double) -> Double {
        let wanted = (Double(count) * part).rounded(.up)
        var seen = 0
        for (index, bound) in bounds.enumerated() {
            seen += counts[index]
            if Double(seen) >= wanted { return bound }
        }
        return .infinity
    }
}
