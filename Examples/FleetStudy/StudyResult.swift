// SPDX-License-Identifier: Apache-2.0

/// The result of one way to keep the quota.
struct StudyResult: Sendable {
    /// How the replicas kept the quota.
    let limiting: Limiting
    /// The scenario that was simulated.
    let scenario: Scenario
    /// The seconds at which requests arrived, in order.
    let arrivals: [Double]
    /// How many of them the server refused.
    let refusals: Int
    /// How many calls failed because they did not get a permit in time.
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

    /// The used share of the quota from one second to another; above 1 if the quota was exceeded.
    func used(_ range: Range<Int>) -> Double {
        let count = perSecond[range].reduce(0, +)
        return Double(count) / (scenario.quota * Double(range.count))
    }

    /// The used share of the quota, without the first two seconds, in which the burst is used up.
    var used: Double { used(2..<scenario.seconds) }

    /// The used share of the quota while the store was unreachable.
    var usedInOutage: Double { used(scenario.outage.lowerBound + 1..<scenario.outage.upperBound) }

    /// The used share of the quota from three seconds after the outage on.
    var usedAfterOutage: Double { used(scenario.outage.upperBound + 3..<scenario.seconds) }
}
