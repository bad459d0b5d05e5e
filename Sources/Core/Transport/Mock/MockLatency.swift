// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long a ``MockTransport`` takes to respond: drawn from the call's random source, and waited
/// for on the client's time source.
public struct MockLatency: Sendable {
    private let quantile: @Sendable (Double) -> Duration

    /// Creates a latency distribution.
    /// - Parameter quantile: Returns the latency below which a share (0..<1) of responses lies.
    public init(quantile: @escaping @Sendable (Double) -> Duration) { self.quantile = quantile }

    /// No latency.
    public static let none = constant(.zero)

    /// A constant latency.
    public static func constant(_ latency: Duration) -> Self { Self { _ in latency } }

    /// A uniform distribution over a range.
    public static func uniform(_ range: ClosedRange<Duration>) -> Self {
        Self { range.lowerBound + (range.upperBound - range.lowerBound) * $0 }
    }

    /// An exponential distribution, as for the time between independent events.
    public static func exponential(mean: Duration) -> Self {
        Self { mean * -log(1 - $0) }
    }

    /// A log-normal distribution, which resembles measured services: half of the responses are
    /// below the median, and one percent is above `p99`.
    public static func logNormal(median: Duration, p99: Duration) -> Self {
        guard median > .zero else { return none }
        let spread = log(max(p99 / median, 1)) / 2.326_347_9
        return Self { median * exp(spread * normalQuantile($0)) }
    }

    /// Returns the latency below which a share (0..<1) of responses lies.
    public func at(share: Double) -> Duration { max(quantile(share), .zero) }

    func draw(from random: CallRandom) -> Duration { at(share: random.unit()) }

    // Abramowitz and Stegun, 26.2.23; the error is below 0.00045.
    private static func normalQuantile(_ share: Double) -> Double {
        let tail = min(max(min(share, 1 - share), 1e-12), 0.5)
        let t = (-2 * log(tail)).squareRoot()
        let top = 2.515_517 + t * (0.802_853 + t * 0.010_328)
        let bottom = 1 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308))
        let value = t - top / bottom
        return share < 0.5 ? -value : value
    }
}
