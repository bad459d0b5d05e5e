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
        let compared = all.indices.filter { all[$0].count >= max(minimum, 1) }
        // NaN finds none.
        guard compared.count > 1, deviations >= 0, deviations.isFinite else { return [] }
        var (sum, squares) = (0.0, 0.0)
        for index in compared {
            sum += all[index].ratio
            squares += all[index].ratio * all[index].ratio
        }
        let others = Double(compared.count - 1)
        let far = compared.filter { index in
            let ratio = all[index].ratio
            let mean = (sum - ratio) / others
            let variance = (squares - ratio * ratio) / others - mean * mean
            let chance = mean * (1 - mean) / Double(all[index].count)
            let deviation = max(variance, chance, 0).squareRoot()
            // The sums are not exact.
            return ratio < mean - max(deviations * deviation, 0.1) - 1e-9
        }
        return far.sorted { all[$0].ratio < all[$1].ratio }
    }
}
