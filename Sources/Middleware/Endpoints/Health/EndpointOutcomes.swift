// SPDX-License-Identifier: Apache-2.0

/// How many requests to an endpoint succeeded and failed in an interval.
struct EndpointOutcomes: Equatable, Sendable {
    var successes = 0
    var failures = 0

    var count: Int { successes + failures }
    var ratio: Double { count == 0 ? 1 : Double(successes) / Double(count) }

    /// Finds those whose success ratio is far below that of the others.
    ///
    /// Envoy compares each with the mean and the deviation of all, itself included, so that one of
    /// five can never be an outlier. Here each is compared with the others alone. Far is
    /// `deviations` times the deviation of the others' ratios, or of what chance does to a ratio of
    /// as many requests, whichever is larger, and a tenth at least.
    /// - Parameters:
    ///   - all: The outcomes of each.
    ///   - minimum: The requests that each must have had to be compared.
    ///   - deviations: How many standard deviations are far.
    /// - Returns: Their positions, the worst first.
    static func outliers(
        among all: [EndpointOutcomes], minimum: Int, deviations: Double
    ) -> [Int] {
        var rest = all.indices.filter { all[$0].count >= max(minimum, 1) }
            .sorted { all[$0].ratio < all[$1].ratio }[...]
        // NaN finds none.
        guard deviations >= 0, deviations.isFinite else { return [] }
        var sum = rest.reduce(0) { $0 + all[$1].ratio }
        var squares = rest.reduce(0) { $0 + all[$1].ratio * all[$1].ratio }
        var outliers: [Int] = []
        // The worst first: beside it, the deviation of the others would hide the second.
        while rest.count > 1, let worst = rest.popFirst() {
            let ratio = all[worst].ratio
            (sum, squares) = (sum - ratio, squares - ratio * ratio)
            let mean = sum / Double(rest.count)
            let variance = squares / Double(rest.count) - mean * mean
            let chance = mean * (1 - mean) / Double(all[worst].count)
            let deviation = max(variance, chance, 0).squareRoot()
            // The sums are not exact.
            guard ratio < mean - max(deviations * deviation, 0.1) - 1e-9 else { break }
            outliers.append(worst)
        }
        return outliers
    }
}
