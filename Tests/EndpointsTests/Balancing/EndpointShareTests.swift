// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Shares of endpoints")
struct EndpointShareTests {
    private static let rules: [BalancingPolicy] = [
        .leastRequests, .peakEWMA, .roundRobin, .weighted,
    ]

    @Test("Each endpoint gets the same share", arguments: rules)
    func equal(policy: BalancingPolicy) {
        let weights = [Double](repeating: 1, count: 10)
        var chooser = Chooser(weights: weights, policy)
        Shares.expect(chooser.counts(Shares.choices), weights)
    }

    @Test("Each endpoint gets the share of its weight", arguments: rules)
    func weighted(policy: BalancingPolicy) {
        let weights = [0.5, 1, 1, 2, 3, 5, 1, 8, 4, 2]
        var chooser = Chooser(weights: weights, policy)
        for member in chooser.members {
            member.record(latency: .milliseconds(5), failed: false, at: chooser.now)
        }
        Shares.expect(chooser.counts(Shares.choices), weights)
    }

    @Test("Of two endpoints each gets the share of its weight", arguments: rules)
    func two(policy: BalancingPolicy) {
        var chooser = Chooser(weights: [1, 3], policy)
        for member in chooser.members {
            member.record(latency: .milliseconds(5), failed: false, at: chooser.now)
        }
        Shares.expect(chooser.counts(Shares.choices / 3), [1, 3])
    }

    @Test(
        "Under load, the requests under way keep to the weights",
        arguments: [.leastRequests, .peakEWMA] as [BalancingPolicy])
    func load(policy: BalancingPolicy) {
        let weights = [1.0, 1, 2, 3, 1, 2, 3, 4, 2, 1]
        var chooser = Chooser(weights: weights, policy)
        for member in chooser.members {
            member.record(latency: .milliseconds(5), failed: false, at: chooser.now)
        }
        Shares.expect(chooser.counts(Shares.choices, underWay: 600), weights)
        #expect(chooser.members.allSatisfy { $0.underWay == 0 })
    }

    @Test("Two draws keep the loads of all together", arguments: [2, 10, 100])
    func together(count: Int) {
        var chooser = Chooser(
            weights: [Double](repeating: 1, count: count), .leastRequests)
        for _ in 0..<count * 20 { chooser.pick()?.member.begin() }
        let loads = chooser.members.map(\.underWay)
        // With a single draw the largest of 100 would have some 33.
        #expect((loads.max() ?? 0) <= 23 && (loads.min() ?? 0) >= 16)
    }

    @Test("Round robin takes one after the other, from a random place on")
    func order() {
        var starts: Set<UInt64> = []
        for seed in 0..<20 as Range<UInt64> {
            var chooser = Chooser(
                weights: [1, 1, 1, 1, 1, 1, 1], .roundRobin, seed: seed)
            let keys = (0..<21).compactMap { _ in chooser.pick()?.member.key }
            #expect(Set(keys.prefix(7)) == Set(chooser.members.map(\.key)))
            #expect(keys[0..<7] == keys[7..<14] && keys[7..<14] == keys[14...])
            starts.insert(keys[0])
        }
        #expect(starts.count > 3)
    }

    @Test("Round robin by weight lets each return evenly")
    func smooth() {
        var chooser = Chooser(weights: [1, 5, 2], .roundRobin)
        let heavy = chooser.members[1].key
        var gap = 0
        for _ in 0..<8000 {
            gap = chooser.pick()?.member.key == heavy ? 0 : gap + 1
            #expect(gap <= 2)
        }
    }

    @Test("Round robin goes on after the last number of its sequence")
    func overflow() {
        let sequence = EndpointSequence(startingAt: UInt64.max - 1)
        var dice = SeededGenerator(seed: 1)
        #expect(sequence.next { dice.next() } == UInt64.max - 1)
        #expect(sequence.next { dice.next() } == UInt64.max)
        let next = sequence.next { dice.next() }
        #expect(sequence.next { dice.next() } == next &+ 1)
    }

    @Test("A new endpoint begins with a tenth of its share, and has all of it in the end")
    func slowStart() {
        for policy in Self.rules {
            for (age, part) in [(Duration.zero, 0.1), (.seconds(15), 0.5), (.seconds(30), 1)] {
                var chooser = Chooser(weights: [2, 1, 1, 2], policy)
                chooser.members[3].startSlowly(at: chooser.now)
                for member in chooser.members {
                    member.record(
                        latency: .milliseconds(5), failed: false, at: chooser.now)
                }
                chooser.use { _ in true }
                chooser.now = chooser.now.advanced(by: age)
                let counts = chooser.counts(Shares.choices / 6)
                let share = Double(counts[3]) / Double(counts.reduce(0, +))
                let wished = 2 * part / (4 + 2 * part)
                #expect(abs(share - wished) < 0.015, "\(policy) after \(age): \(share)")
            }
        }
    }

    @Test("Where all endpoints are new, none is held back")
    func allNew() {
        var chooser = Chooser(weights: [1, 1, 1, 1], .weighted)
        for member in chooser.members { member.startSlowly(at: chooser.now) }
        chooser.use { _ in true }
        Shares.expect(chooser.counts(Shares.choices / 3), [1, 1, 1, 1])
    }
}
