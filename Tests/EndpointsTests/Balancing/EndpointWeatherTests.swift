// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

/// What the rules alone do about endpoints that are not well, before anything is ejected.
@Suite("The choice of an endpoint in bad weather")
struct EndpointWeatherTests {
    private static let rules: [BalancingPolicy] = [.leastRequests, .peakEWMA]

    /// How an endpoint answers.
    private struct Manner {
        var milliseconds = 50
        var fails = false
    }

    // Sends two requests each millisecond to ten endpoints, of which the first has manners of its
    // own, and returns its share of the last 15 of 20 seconds.
    private static func share(_ policy: BalancingPolicy, first: Manner) -> Double {
        var chooser = Chooser(weights: [Double](repeating: 1, count: 10), policy)
        let start = chooser.now
        var due: [[Int]] = Array(repeating: [], count: 1024)
        let places = Dictionary(
            uniqueKeysWithValues: chooser.members.indices.map { (chooser.members[$0].key, $0) })
        let request = Request(.get, "http://users.internal/")
        var (all, firsts) = (0, 0)
        for tick in 0..<20_000 {
            chooser.now = start.advanced(by: .milliseconds(tick))
            for place in due[tick % 1024] {
                let manner = place == 0 ? first : Manner()
                chooser.members[place].end()
                chooser.members[place].record(
                    latency: .milliseconds(manner.milliseconds), failed: manner.fails,
                    at: chooser.now)
            }
            due[tick % 1024] = []
            for _ in 0..<2 {
                guard let member = chooser.pick(request)?.member, let place = places[member.key]
                else { continue }
                member.begin()
                let manner = place == 0 ? first : Manner()
                due[(tick + manner.milliseconds) % 1024].append(place)
                guard tick >= 5000 else { continue }
                all += 1
                if place == 0 { firsts += 1 }
            }
        }
        return Double(firsts) / Double(all)
    }

    @Test("An endpoint that fails at once attracts no requests", arguments: rules)
    func blackHole(policy: BalancingPolicy) {
        let share = Self.share(policy, first: Manner(milliseconds: 1, fails: true))
        #expect(share <= 0.02)
    }

    @Test("An endpoint that is ten times slower gets less")
    func slow() {
        let least = Self.share(.leastRequests, first: Manner(milliseconds: 500))
        let peak = Self.share(.peakEWMA, first: Manner(milliseconds: 500))
        #expect(least < 0.03)
        #expect(peak < 0.01)
    }

    @Test("An endpoint that is faster gets more", arguments: rules)
    func fast(policy: BalancingPolicy) {
        #expect(Self.share(policy, first: Manner(milliseconds: 20)) > 0.12)
    }
}
