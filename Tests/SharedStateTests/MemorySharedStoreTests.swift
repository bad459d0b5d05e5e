// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("Shared state in memory")
struct MemorySharedStoreTests {
    let clock = ManualClock()
    let rule = QuotaRule(10, per: .seconds(1), burst: 5)

    private func grant(_ answer: QuotaAnswer) throws -> QuotaGrant {
        guard case .granted(let grant) = answer else {
            throw MissingGrant(description: "\(answer)")
        }
        return grant
    }

    private struct MissingGrant: Error { let description: String }

    @Test("Gives the burst, then one permit each interval")
    func burst() async throws {
        let store = MemorySharedStore(timeSource: clock)
        let request = QuotaRequest(key: "a", rules: [rule])
        for left in (0..<5).reversed() {
            let grant = try grant(await store.take(request))
            #expect(grant.permits == 1)
            #expect(grant.offsets == [.milliseconds(-100) * left])
        }
        #expect(await store.take(request) == .exhausted(retryAfter: .milliseconds(100)))
        clock.advance(by: .milliseconds(99))
        #expect(await store.take(request) == .exhausted(retryAfter: .milliseconds(1)))
        clock.advance(by: .milliseconds(1))
        #expect(try grant(await store.take(request)).offsets == [.zero])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 0)
    }

    @Test("A caller that waits as long as it was told is not refused, whatever the interval")
    func inexactIntervals() async throws {
        let store = MemorySharedStore(timeSource: clock)
        let request = QuotaRequest(
            key: "a",
            rules: [
                QuotaRule(7, per: .seconds(3), burst: 3),
                QuotaRule(1.1, per: .seconds(1)),
            ])
        clock.advance(by: .seconds(50 * 86_400))
        for _ in 0..<1000 {
            if case .exhausted(let wait) = await store.take(request) {
                #expect(wait > .zero)
                clock.advance(by: wait)
                _ = try grant(await store.take(request))
            }
        }
    }

    @Test("A charge stops calls for two bursts and a period at most")
    func charge() async {
        let store = MemorySharedStore(timeSource: clock)
        await store.giveBack(-8, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == -3)
        await store.giveBack(-1000, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == -15)
        // What was reserved further ahead stays.
        _ = await store.take(
            QuotaRequest(key: "a", rules: [rule], minimum: 30, reach: .seconds(60)))
        await store.giveBack(-1, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == -45)
    }

    @Test("If the clock goes back, what is left stays the same")
    func clockGoesBack() {
        var state = QuotaState()
        let request = QuotaRequest(key: "a", rules: [rule], minimum: 5, reach: .zero)
        _ = state.take(request, at: 3.6e12)
        #expect(state.left(of: rule, at: 3.6e12) == 0)
        #expect(state.left(of: rule, at: 0) == 0)
        #expect(state.take(request, at: 5e7) == .exhausted(retryAfter: .milliseconds(50)))
    }

    @Test("Permits that are given back make no rule more than whole")
    func giveBack() async throws {
        let store = MemorySharedStore(timeSource: clock)
        _ = await store.take(QuotaRequest(key: "a", rules: [rule], minimum: 5, maximum: 5))
        await store.giveBack(2, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 2)
        await store.giveBack(1_000_000, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 5)
        await store.giveBack(-3, to: "a", rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 2)
        await store.giveBack(.min, to: "a", rules: [rule])
        await store.giveBack(.max, to: "a", rules: [rule])
    }

    @Test("Lowers what is left, and never raises it")
    func lower() async {
        let store = MemorySharedStore(timeSource: clock)
        await store.lower(to: 3.5, of: "a", rule: 0, rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 3.5)
        await store.lower(to: 4, of: "a", rule: 0, rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 3.5)
        for odd in [Double.nan, .infinity, 6] {
            await store.lower(to: odd, of: "a", rule: 0, rules: [rule])
        }
        await store.lower(to: 0, of: "a", rule: 7, rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 3.5)
        await store.lower(to: -.infinity, of: "a", rule: 0, rules: [rule])
        #expect(store.permitsLeft(of: "a", rules: [rule]) == 0)
    }

    @Test("Extreme requests do not trap")
    func extremes() async {
        let store = MemorySharedStore(timeSource: clock)
        let rules = [
            QuotaRule(1e12, per: .zero, burst: 1e12), QuotaRule(0, per: .seconds(1e12)),
            QuotaRule(.nan, per: .seconds(1), burst: .infinity),
        ]
        for reach in [Duration.zero, .seconds(Int64.max)] {
            for most in [1, Int.max] {
                for least in [1, Int.max] {
                    _ = await store.take(
                        QuotaRequest(
                            key: "a", rules: rules, minimum: least, maximum: most, reach: reach))
                    _ = await store.take(
                        QuotaRequest(key: "b", rules: [], minimum: least, reach: reach))
                }
            }
        }
        await store.coolDown(for: .seconds(Int64.max), "a")
        #expect(await store.cooldown(of: "a") != nil)
    }

    @Test("A lock expires, and its number does not come again")
    func locks() async {
        let store = MemorySharedStore(timeSource: clock)
        let first = await store.lock("a", for: .seconds(5))
        #expect(await store.lock("a", for: .seconds(5)) == .held(atMost: .seconds(5)))
        clock.advance(by: .seconds(5))
        let second = await store.lock("a", for: .seconds(5))
        guard case .taken(let old) = first, case .taken(let new) = second else {
            Issue.record("a free lock was not taken")
            return
        }
        #expect(new.fence > old.fence)
        await store.unlock(old)
        #expect(store.isLocked("a"))
        await store.unlock(new)
        #expect(!store.isLocked("a"))
    }

    @Test("Keeps nothing that has ended")
    func memory() async {
        let store = MemorySharedStore(timeSource: clock)
        for index in 0..<10_000 {
            _ = await store.take(QuotaRequest(key: "\(index)", rules: [rule]))
            await store.coolDown(for: .milliseconds(5), "\(index)")
            _ = await store.lock("\(index)", for: .milliseconds(5))
            _ = await store.beat("\(index)", of: "\(index)", for: .milliseconds(5))
            clock.advance(by: .milliseconds(1))
        }
        #expect(store.keyCount < 250)
        clock.advance(by: .seconds(1))
        #expect(store.keyCount == 0)
    }
}
