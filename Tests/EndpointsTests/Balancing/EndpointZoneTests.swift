// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("The zone of endpoints")
struct EndpointZoneTests {
    private static let rules: [BalancingPolicy] = [
        .leastRequests, .peakEWMA, .roundRobin, .weighted, .hash(of: "X-Key"),
    ]

    // Ten endpoints in zone a, and ten in others.
    private static func chooser(
        _ policy: BalancingPolicy = .weighted, spill: Double = 0.7, weight: Double = 1
    ) -> Chooser {
        let own = (0..<10).map { Chooser.endpoint($0, weight: $0 < 5 ? weight : 1, zone: "a") }
        let others = (10..<20).map { Chooser.endpoint($0, zone: $0 < 15 ? "b" : nil) }
        return Chooser(own + others, policy, zone: EndpointZone("a", spill: spill))
    }

    // Keys of a hash are few, because their requests take long to make.
    private static let requests = (0..<3000).map {
        Request(.get, "http://users.internal/", headers: ["X-Key": "\($0)"])
    }

    private static func ownShare(_ chooser: inout Chooser, _ count: Int = 12_000) -> Double {
        var own = 0
        for number in 0..<count {
            let pick = chooser.pick(requests[number % requests.count])
            if pick?.member.endpoint.zone == "a" { own += 1 }
            #expect((pick?.reason == .rule) == (pick?.member.endpoint.zone == "a"))
        }
        return Double(own) / Double(count)
    }

    @Test("All requests stay in the zone while enough of it is well", arguments: rules)
    func stays(policy: BalancingPolicy) {
        var chooser = Self.chooser(policy)
        #expect(Self.ownShare(&chooser, 500) == 1)
        chooser.use { !(0..<3).contains($0) }
        #expect(Self.ownShare(&chooser, 500) == 1)
    }

    @Test("Below that, requests leave it in proportion", arguments: rules)
    func spills(policy: BalancingPolicy) {
        var chooser = Self.chooser(policy)
        for usable in [6, 4, 2, 1] {
            chooser.use { $0 >= 10 || $0 < usable }
            let share = Self.ownShare(&chooser)
            let wished = Double(usable) / 10 / 0.7
            #expect(abs(share - wished) < 0.03, "\(usable) usable: \(share)")
        }
        chooser.use { $0 >= 10 }
        #expect(Self.ownShare(&chooser, 500) == 0)
    }

    @Test("The other endpoints share what leaves the zone")
    func rest() {
        var chooser = Self.chooser(.roundRobin)
        chooser.use { $0 >= 10 || $0 == 0 }
        let counts = chooser.counts(Shares.choices / 2)
        Shares.expect(Array(counts[10...]), [Double](repeating: 1, count: 10))
    }

    @Test("The zone is as well as the weights of its usable endpoints say")
    func byWeight() {
        var chooser = Self.chooser(weight: 3)
        // 15 of 20 by weight, though 5 of 10.
        chooser.use { $0 < 5 || $0 >= 10 }
        #expect(Self.ownShare(&chooser, 500) == 1)
        chooser.use { $0 >= 5 }
        #expect(abs(Self.ownShare(&chooser) - 0.25 / 0.7) < 0.02)
    }

    @Test("One side gets all requests where the other has no usable endpoint")
    func oneSide() {
        var chooser = Self.chooser()
        chooser.use { $0 == 0 }
        #expect(Self.ownShare(&chooser, 500) == 1)
        chooser = Chooser(
            (0..<4).map { Chooser.endpoint($0, zone: "b") }, .roundRobin,
            zone: EndpointZone("a"))
        #expect(Self.ownShare(&chooser, 500) == 0)
        #expect(chooser.pick()?.reason == .otherZone)
    }

    @Test("A call leaves the zone once it has tried all of its endpoints")
    func tried() {
        var chooser = Self.chooser()
        chooser.use { $0 < 2 || $0 > 17 }
        var tried: [UInt64] = []
        for _ in 0..<4 {
            if let pick = chooser.pick(avoiding: tried) { tried.append(pick.member.key) }
        }
        #expect(tried.count == 4)
        #expect(chooser.pick(avoiding: tried)?.reason == .allTried)
    }

    @Test("A spill of any number makes a share")
    func bounds() {
        for spill in [0, -1, Double.nan, .infinity, 2, -.infinity, 1e-300] {
            for usable in [0, 0.5, 1, 1e-300] {
                let share = EndpointZone("a", spill: spill).ownShare(usable: usable)
                #expect(share >= 0 && share <= 1)
            }
        }
        #expect(EndpointZone("a", spill: 0).ownShare(usable: 0.01) == 1)
        #expect(EndpointZone("a", spill: .nan).ownShare(usable: 0.01) == 1)
        #expect(EndpointZone("a", spill: 9).ownShare(usable: 0.5) == 0.5)
    }
}
