// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeSupport

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Permits that a replica has reserved")
struct QuotaPocketTests {
    private static let rates = QuotaRates([QuotaRule(1, per: .seconds(1), burst: 100)])

    private static func grant(_ permits: Int, _ offsets: Duration...) -> QuotaGrant {
        QuotaGrant(permits: permits, offsets: offsets)
    }

    @Test("Permits that were given back are not used, although they were due")
    func removed() {
        var pocket = QuotaPocket(Self.rates)
        pocket.add(Self.grant(5, .seconds(-10)), at: 0)
        #expect(pocket.removeLast(2) == 2)
        pocket.add(Self.grant(10, .seconds(60)), at: 0)
        let hasFour = pocket.take(4, at: 0)
        #expect(!hasFour, "three are due, and the fourth comes after a minute")
        let hasThree = pocket.take(3, at: 0)
        #expect(hasThree && pocket.count == 10)
        #expect(pocket.due(of: 1) == 60_000_000_000)
    }

    @Test(
        "A grant that no store may give is told apart",
        arguments: [
            (grant(1, .zero), true), (grant(3, .seconds(9)), true),
            (grant(1, .seconds(-1_000_000_000_000)), true),
            (grant(0, .zero), false), (grant(-5, .zero), false), (grant(.min, .zero), false),
            (grant(1), false), (grant(1, .zero, .zero), false),
            (grant(1, .seconds(1_000_000)), false),
        ])
    func usable(grant: QuotaGrant, isUsable: Bool) {
        let plan = QuotaPlan([QuotaRule(1, per: .seconds(1))], access: nil)
        #expect(((try? plan.checked(.granted(grant))) != nil) == isUsable)
    }

    @Test("Extreme numbers of a store do not trap")
    func extremes() {
        let durations: [Duration] = [
            Duration(attoseconds: .min), Duration(attoseconds: .max), .zero,
            .nanoseconds(Int64.min), .nanoseconds(Int64.max),
        ]
        for clock in [Int64.min, -1, 0, .max] {
            for offset in durations {
                for permits in [1, 7, Int.max] {
                    var pocket = QuotaPocket(Self.rates)
                    pocket.add(Self.grant(permits, offset), at: clock)
                    #expect(pocket.count >= 1 && pocket.lastDue != nil)
                    _ = pocket.take(.max, at: clock)
                    _ = pocket.take(1, at: clock)
                    #expect(pocket.due(of: .max, behind: .max) == nil)
                    let removed = pocket.removeLast(.max)
                    #expect(removed >= 0 && pocket.isEmpty)
                }
            }
        }
    }
}
