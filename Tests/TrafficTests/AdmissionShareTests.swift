// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("The share of calls that is admitted")
struct AdmissionShareTests {
    private let rules = AdmissionShare.Rules(
        threshold: 0.7, recovery: .seconds(15), slowness: 4)

    private static func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds * 1e9))
    }

    /// A share that three rejections, one a second, have cut at 3 s.
    private func cut(after wait: Duration? = nil) -> AdmissionShare {
        var share = AdmissionShare()
        if let wait {
            for _ in 0..<20 {
                _ = share.record(
                    .accepted(after: wait), sentAt: Self.at(0), at: Self.at(0.5), rules)
            }
        }
        for second in [1.0, 2, 3] {
            let isCut = share.record(
                .rejected, sentAt: Self.at(second), at: Self.at(second), rules)
            #expect(isCut == (second == 3))
        }
        return share
    }

    @Test("Three rejections in a row cut the share to 3 %, which grows slowly at first")
    func growth() {
        let share = cut()
        #expect(share.share(at: Self.at(3), rules) == 0.03)
        let early = share.share(at: Self.at(6), rules)
        #expect(early > 0.12 && early < 0.15)
        #expect(share.share(at: Self.at(18), rules) == 1)
        let end = Self.at(3).advanced(by: share.timeToAll(at: Self.at(3), rules))
        #expect(abs(share.share(at: end, rules) - 1) < 1e-6)
        #expect(share.share(at: end.advanced(by: .milliseconds(-100)), rules) < 1)
    }

    @Test("No random number is drawn while all calls are admitted")
    func calm() {
        var share = AdmissionShare()
        for second in 0..<10 {
            let isAdmitted = share.admit(.sheddable, at: Self.at(Double(second)), rules) {
                Issue.record("drawn")
                return 1
            }
            #expect(isAdmitted)
        }
    }

    @Test("A few rejections among many answers do not count")
    func faults() {
        var share = AdmissionShare()
        for number in 0..<10_000 {
            let now = Self.at(Double(number) / 100)
            let evidence: AdmissionShare.Evidence =
                number % 3 == 0 ? .rejected : .accepted(after: .milliseconds(20))
            let isCut = share.record(evidence, sentAt: now, at: now, rules)
            #expect(!isCut)
        }
    }

    @Test("Attempts that were sent before a cut do not count")
    func old() {
        var share = cut()
        for number in 0..<100 {
            _ = share.record(
                .rejected, sentAt: Self.at(2.9), at: Self.at(3 + Double(number) / 100), rules)
        }
        #expect(share.share(at: Self.at(18), rules) == 1)
        _ = share.record(.rejected, sentAt: Self.at(4), at: Self.at(5), rules)
        #expect(share.share(at: Self.at(5), rules) < 0.01, "one that was sent later does")
    }

    @Test("A slow answer counts as rejected only while calls are refused")
    func slowness() {
        var open = AdmissionShare()
        for second in 0..<20 {
            let wait = Duration.milliseconds(second < 10 ? 20 : 900)
            let now = Self.at(Double(second))
            let isCut = open.record(.accepted(after: wait), sentAt: now, at: now, rules)
            #expect(!isCut)
        }
        for (slowness, isCut) in [(4.0, true), (nil, false)] {
            let rules = AdmissionShare.Rules(
                threshold: 0.7, recovery: .seconds(15), slowness: slowness)
            var share = cut(after: .milliseconds(20))
            let before = share.share(at: Self.at(6), rules)
            _ = share.record(
                .accepted(after: .milliseconds(900)), sentAt: Self.at(5), at: Self.at(6), rules)
            #expect((share.share(at: Self.at(6), rules) < before) == isCut)
        }
    }

    @Test("After recovery, calls that succeed keep all admitted")
    func recovery() {
        var share = cut(after: .milliseconds(20))
        for number in 0..<200 {
            let now = Self.at(3 + Double(number) / 10)
            if share.admit(.default, at: now, rules, unit: { 0.5 }) {
                _ = share.record(.accepted(after: .milliseconds(20)), sentAt: now, at: now, rules)
            }
        }
        #expect(share.share(at: Self.at(18), rules) == 1)
        #expect(!share.isLimited)
    }

    @Test("What was rejected long ago does not count with what is rejected now")
    func silence() {
        var share = cut()
        let isCut = share.record(.rejected, sentAt: Self.at(99), at: Self.at(99), rules)
        #expect(!isCut)
        #expect(share.share(at: Self.at(99), rules) == 1)
    }

    @Test("Critical calls are admitted first, sheddable ones last")
    func criticality() {
        var share = AdmissionShare()
        for number in 0..<1000 {
            let criticality: Criticality =
                number % 10 < 2 ? .critical : number % 10 < 6 ? .default : .sheddable
            let isAdmitted = share.admit(criticality, at: Self.at(0), rules, unit: { 1 })
            #expect(isAdmitted)
        }
        func chances(_ all: Double) -> [Double] {
            [.critical, .default, .sheddable].map { share.share(of: $0, from: all) }
        }
        #expect(chances(0.05)[0] > 0 && chances(0.05)[0] < 1 && chances(0.05)[1] == 0)
        #expect(chances(0.4)[0] == 1 && chances(0.4)[1] > 0.2 && chances(0.4)[2] == 0)
        #expect(chances(0.8)[1] == 1 && chances(0.8)[2] > 0.3 && chances(0.8)[2] < 1)
    }
}
