// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeSupport

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("Permits that a replica has reserved")
struct ReservedPermitsTests {
    private static let rules = [QuotaRule(1, per: .seconds(1), burst: 100)]

    private static func grant(_ permits: Int, _ offsets: Duration...) -> QuotaGrant {
        QuotaGrant(permits: permits, offsets: offsets)
    }

    @Test("Permits that were given back are not used, although they were due")
    func removed() {
        var reserved = ReservedPermits(Self.rules)
        reserved.add(Self.grant(5, .seconds(-10)), at: 0)
        #expect(reserved.removeLast(2) == 2)
        reserved.add(Self.grant(10, .seconds(60)), at: 0)
        let hasFour = reserved.take(4, at: 0)
        #expect(!hasFour, "three are due, and the fourth comes after a minute")
        let hasThree = reserved.take(3, at: 0)
        #expect(hasThree && reserved.count == 10)
        #expect(reserved.due(of: 1) == 60_000_000_000)
    }

    @Test(
        "Of a grant, the permits up to now are due, and each other one at its time",
        arguments: [
            ([Duration.zero], 1, Duration.seconds(1)),
            ([.milliseconds(250)], 0, .milliseconds(250)),
            ([.nanoseconds(-1)], 1, .seconds(1) - .nanoseconds(1)),
            ([.seconds(-10)], 11, .seconds(1)),
            ([.seconds(-11) + .nanoseconds(1)], 11, .nanoseconds(1)),
            ([.milliseconds(-10_500)], 11, .milliseconds(500)),
            // The slower of two rules decides.
            ([.seconds(-10), .seconds(-10)], 6, .seconds(2)),
            ([.seconds(-10), .seconds(3)], 0, .seconds(3)),
        ])
    func due(offsets: [Duration], ready: Int, next: Duration) {
        let slower = QuotaRule(1, per: .seconds(2), burst: 100)
        let rules = [QuotaRule(1, per: .seconds(1), burst: 100), slower].prefix(offsets.count)
        var reserved = ReservedPermits(Array(rules))
        let now: Int64 = 5_000_000_000
        reserved.add(QuotaGrant(permits: 30, offsets: offsets), at: now)
        var taken = 0
        while taken < 30, reserved.take(1, at: now) { taken += 1 }
        #expect(taken == ready)
        let due = now + next.wholeNanoseconds
        #expect(reserved.due(of: 1) == due)
        let isEarly = reserved.take(1, at: due - 1)
        let isDue = reserved.take(1, at: due)
        #expect(!isEarly && isDue)
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
        let plan = QuotaPlan(
            [QuotaRule(1, per: .seconds(1))], access: SharedState(MemorySharedStore()).access)
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
                    var reserved = ReservedPermits(Self.rules)
                    reserved.add(Self.grant(permits, offset), at: clock)
                    #expect(reserved.count >= 1 && reserved.lastDue != nil)
                    _ = reserved.take(.max, at: clock)
                    _ = reserved.take(1, at: clock)
                    #expect(reserved.due(of: .max, behind: .max) == nil)
                    let removed = reserved.removeLast(.max)
                    #expect(removed >= 0 && reserved.isEmpty)
                }
            }
        }
    }
}
