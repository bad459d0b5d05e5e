// SPDX-License-Identifier: Apache-2.0

/// What one way to keep the quota made of the scenario.
struct StudyResult: Sendable {
    /// How the replicas kept the quota.
    let limiting: Limiting
    /// What was simulated.
    let scenario: Scenario
    /// The seconds at which requests arrived, in order.
    let arrivals: [Double]
    /// How many of them the server refused.
    let refusals: Int
    /// How many calls failed because their turn did not come in time.
    let unsent: Int
    /// How many calls there were.
    let calls: Int

    /// The requests that arrived in each second.
    var perSecond: [Int] {
        var counts = Array(repeating: 0, count: scenario.seconds)
        for arrival in arrivals where arrival < Double(scenario.seconds) {
            counts[Int(arrival)] += 1
        }
        return counts
    }

    /// The most requests that arrived within any second.
    var most: Int {
        var (first, most) = (0, 0)
        for (index, arrival) in arrivals.enumerated() {
            while arrivals[first] <= arrival - 1 { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    /// The share of the quota that was used from one second to another; above 1 if it was broken.
    func used(_ range: Range<Int>) -> Double {
        let count = perSecond[range].reduce(0, +)
        return Double(count) / (scenario.quota * Double(range.count))
    }

    /// The share of the quota that was used, without the first two seconds, in which the burst goes.
    var used: Double { used(2..<scenario.seconds) }

    /// The share of the quota that was used while the store was away.
    var usedInOutage: Double { used(scenario.outage.lowerBound + 1..<scenario.outage.upperBound) }

    /// The share of the quota that was used from three seconds after the outage on.
    var usedAfterOutage: Double { used(scenario.outage.upperBound + 3..<scenario.seconds) }
}
