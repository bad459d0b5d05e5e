// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Laws of the choice of an endpoint")
struct BalancingLawsTests {
    private static let rules: [BalancingPolicy] = [
        .leastRequests, .peakEWMA, .roundRobin, .weighted, .hash(of: "X-Key"),
        .hash(of: { _ in nil }),
    ]

    private static let weights = [
        1, 1, 1, 2, 0, -1, .nan, .infinity, -.infinity, .leastNonzeroMagnitude,
        .greatestFiniteMagnitude, 1e-9, 1e9, 0.1, 100,
    ]

    @Test("A usable endpoint is chosen while there is one, and one not tried while one is left")
    func anyFleet() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let zone = dice.chance(0.5) ? EndpointZone("a", spill: dice.one(of: Self.weights)) : nil
            let endpoints = (0..<dice.roll(0...7)).map {
                Chooser.endpoint(
                    $0, weight: dice.one(of: dice.chance(0.5) ? [1] : Self.weights),
                    zone: dice.one(of: ["a", "b", nil]))
            }
            var chooser = Chooser(
                endpoints, dice.one(of: Self.rules), zone: zone, seed: Law.seed(run))
            for member in chooser.members {
                for _ in 0..<dice.roll(0...3) { member.begin() }
                if dice.chance(0.3) { member.startSlowly(at: chooser.now) }
                if dice.chance(0.5) {
                    member.record(
                        latency: .milliseconds(dice.roll(0...9)), failed: dice.chance(0.5),
                        at: chooser.now)
                }
            }
            let usable = Set(endpoints.indices.filter { _ in dice.chance(0.7) })
            chooser.use(usable.contains)
            Self.exhaust(&chooser, usable, run, &dice)
        }
    }

    // Tries one endpoint after the other, until none is left.
    private static func exhaust(
        _ chooser: inout Chooser, _ usable: Set<Int>, _ run: UInt64, _ dice: inout Dice
    ) {
        let keys = Set(usable.map { chooser.members[$0].key })
        var tried: [UInt64] = []
        for _ in 0..<8 {
            let request = Request(
                .get, "http://users.internal/", headers: ["X-Key": "\(dice.roll(0...9))"])
            let pick = chooser.pick(request, avoiding: tried)
            Law.holds((pick == nil) == keys.isEmpty, run, "one of the usable")
            guard let pick else { return }
            Law.holds(keys.contains(pick.member.key), run, "only the usable")
            let isLeft =
                tried.count < chooser.set.own.members.count + chooser.set.others.members.count
            Law.holds(
                tried.contains(pick.member.key) == !isLeft && (pick.reason == .allTried) == !isLeft,
                run, "not again while another is left")
            tried.append(pick.member.key)
        }
    }

    @Test("Equal seeds make equal choices", arguments: rules)
    func reproducible(policy: BalancingPolicy) {
        let weights = [1, 2, 3, 1, 1, 1.5]
        var (first, second) = (
            Chooser(weights: weights, policy, seed: 5), Chooser(weights: weights, policy, seed: 5)
        )
        for _ in 0..<200 {
            #expect(first.pick()?.member.key == second.pick()?.member.key)
        }
    }

    @Test("A member that was not begun as often as it ended counts as free")
    func underflow() {
        var chooser = Chooser(weights: [1, 1], .leastRequests)
        chooser.members[0].end()
        chooser.members[1].begin()
        for _ in 0..<20 { #expect(chooser.pick()?.member.key == chooser.members[0].key) }
    }

    @Test("A heavy endpoint that was tried leaves the others their shares")
    func heavy() {
        var chooser = Chooser(weights: [1e6, 1, 3], .weighted)
        var tried: [UInt64] = []
        tried.append(chooser.members[0].key)
        var counts = [0, 0]
        for _ in 0..<Shares.choices / 20 {
            let isFirst = chooser.pick(avoiding: tried)?.member.key == chooser.members[1].key
            counts[isFirst ? 0 : 1] += 1
        }
        Shares.expect(counts, [1, 3])
    }
}
