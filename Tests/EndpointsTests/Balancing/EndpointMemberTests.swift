// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("What is known of an endpoint")
struct EndpointMemberTests {
    private let member = EndpointMember(Chooser.endpoint(1))
    private let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    private func cost(after time: Duration = .zero) -> Double {
        member.cost(per: 1, at: start.advanced(by: time).nanoseconds) / 1e6
    }

    private func succeed(_ milliseconds: Int, after time: Duration = .zero) {
        member.record(
            latency: .milliseconds(milliseconds), failed: false, at: start.advanced(by: time))
    }

    @Test("A peak counts at once, and wears off with a time constant of ten seconds")
    func peak() {
        succeed(10)
        succeed(500)
        #expect(cost() == 500)
        #expect(abs(cost(after: .seconds(10)) - 500 / 2.718_28) < 0.01)
        succeed(20, after: .seconds(10))
        // A fast answer counts for as much as the old value has worn off.
        let expected = 500 / 2.718_28 + 20 * (1 - 1 / 2.718_28)
        #expect(abs(cost(after: .seconds(10)) - expected) < 0.01)
        succeed(900, after: .seconds(20))
        #expect(cost(after: .seconds(20)) == 900)
    }

    @Test("Each request under way adds the latency once more, by weight")
    func underWay() {
        succeed(10)
        member.begin()
        member.begin()
        #expect(cost() == 30)
        #expect(member.cost(per: 2, at: start.nanoseconds) == 20e6)
        member.end()
        member.end()
        #expect(cost() == 10 && member.underWay == 0)
    }

    @Test("An endpoint without an answer is free, until one request probes it")
    func unknown() {
        #expect(cost() == 0)
        member.begin()
        #expect(cost() > 1e9)
        succeed(10)
        #expect(cost() == 20)
        member.end()
    }

    @Test("A failure never lowers the cost, however fast it is")
    func failure() {
        succeed(50)
        member.record(latency: .microseconds(10), failed: true, at: start)
        #expect(cost() == 100)
        for second in 1...20 {
            let now = start.advanced(by: .seconds(second))
            let before = cost(after: .seconds(second))
            member.record(latency: .microseconds(10), failed: true, at: now)
            #expect(cost(after: .seconds(second)) > before)
        }
        // The failures are forgotten in the end.
        #expect(cost(after: .seconds(300)) < 1)
        #expect(
            member.requests(at: start.advanced(by: .seconds(100)).nanoseconds) == 0)
    }

    @Test("A slow failure is a peak")
    func slowFailure() {
        succeed(50)
        member.record(latency: .seconds(2), failed: true, at: start)
        #expect(cost() == 4000)
    }

    @Test("An endpoint that never answered well stays unknown when it fails")
    func failedProbe() {
        member.record(latency: .milliseconds(1), failed: true, at: start)
        #expect(cost() > 1e9)
        #expect(cost(after: .seconds(8)) == 0)
    }

    @Test("A request that was given up shows how slow the endpoint is at least")
    func givenUp() {
        succeed(50)
        member.record(atLeast: .milliseconds(20), at: start)
        #expect(cost() == 50)
        member.record(atLeast: .milliseconds(70), at: start)
        #expect(cost() == 70)
    }

    @Test("A single failure counts as a request under way, for seven seconds")
    func requests() {
        member.record(latency: .milliseconds(1), failed: true, at: start)
        #expect(member.requests(at: start.nanoseconds) == 1)
        #expect(member.requests(at: start.advanced(by: .seconds(6)).nanoseconds) > 0.5)
        #expect(member.requests(at: start.advanced(by: .seconds(7)).nanoseconds) == 0)
    }

    @Test("A slow start forgets the failures before it, and no latency")
    func returned() {
        succeed(10)
        for _ in 0..<1000 {
            member.record(latency: .milliseconds(1), failed: true, at: start)
        }
        #expect(cost() == 10_010)
        member.startSlowly(at: start)
        #expect(cost() == 10 && member.requests(at: start.nanoseconds) == 0)
    }

    @Test("A member of a newer list shares the figures of the old one")
    func continued() {
        succeed(10)
        member.begin()
        let heavier = EndpointMember(
            Chooser.endpoint(1, weight: 5), continuing: member)
        #expect(heavier.underWay == 1 && heavier.key == member.key)
        heavier.end()
        #expect(member.underWay == 0)
    }

    @Test("Times that go back and latencies of any size do not trap")
    func hostileTimes() {
        for latency in [Duration.zero, .seconds(-5), .seconds(Int64.max), .nanoseconds(1)] {
            for now in [Int64.min, -1, 0, .max] {
                member.record(
                    latency: latency, failed: now == 0, at: MonotonicInstant(nanoseconds: now))
                for then in [Int64.min, 0, .max] {
                    #expect(member.cost(per: 1, at: then) >= 0)
                    #expect(member.requests(at: then) >= 0)
                }
            }
        }
    }
}
