// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Laws of admission")
struct AdmissionLawsTests {
    @Test("A share stays in bounds, grows to all calls in bounded time, and sheds by criticality")
    func shares() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let rules = AdmissionShare.Rules(
                threshold: Double(dice.roll(0...99)) / 100, recovery: .seconds(dice.roll(1...60)),
                slowness: dice.chance(0.5) ? Double(dice.roll(1...20)) : nil)
            var share = AdmissionShare()
            var now = MonotonicInstant(nanoseconds: 0)
            var underWay: [MonotonicInstant] = []
            for _ in 0..<dice.roll(10...120) {
                let before = share.share(at: now, rules)
                switch dice.roll(0...9) {
                case 0...3:
                    let unit = Double(dice.roll(0...999)) / 1000
                    let criticality = dice.one(of: Criticality.allCases)
                    if share.admit(criticality, at: now, rules, unit: { unit }) {
                        underWay.append(now)
                    }
                    let after = share.share(at: now, rules)
                    Law.holds(after == before, run, "a call changes nothing")
                case 4...6 where !underWay.isEmpty:
                    let sent = underWay.remove(at: dice.roll(0...(underWay.count - 1)))
                    let isCut = share.record(.rejected, sentAt: sent, at: now, rules)
                    Law.holds(share.share(at: now, rules) <= before, run)
                    Law.holds(!isCut || before == 1, run)
                case 7 where !underWay.isEmpty:
                    let sent = underWay.remove(at: dice.roll(0...(underWay.count - 1)))
                    let wait = Duration.milliseconds(dice.roll(0...3000))
                    _ = share.record(.accepted(after: wait), sentAt: sent, at: now, rules)
                    if rules.slowness == nil {
                        Law.holds(share.share(at: now, rules) == before, run)
                    }
                default:
                    now = now.advanced(by: .milliseconds(dice.roll(0...4000)))
                    Law.holds(share.share(at: now, rules) >= before, run, "it grows with time")
                }
                let all = share.share(at: now, rules)
                Law.holds(all >= 0 && all <= 1, run)
                let chances = [Criticality.critical, .default, .sheddable].map {
                    share.share(of: $0, from: all)
                }
                for (more, less) in zip(chances, chances.dropFirst()) {
                    Law.holds(less == 0 || more == 1, run, "the lower class is refused first")
                    Law.holds(less >= 0 && more <= 1, run)
                }
            }
            // Whatever came before: silence admits all.
            Law.holds(share.timeToAll(at: now, rules) <= rules.recovery + .milliseconds(1), run)
            now = now.advanced(by: rules.recovery)
            let isAdmitted = share.admit(.sheddable, at: now, rules, unit: { 0.999_999 })
            Law.holds(isAdmitted, run)
        }
    }

    @Test("The classes together are admitted in the share of all calls")
    func mix() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let rules = AdmissionShare.Rules(
                threshold: 0.7, recovery: .seconds(15), slowness: nil)
            var share = AdmissionShare()
            let now = MonotonicInstant(nanoseconds: 0)
            let parts = [dice.roll(0...10), dice.roll(1...10), dice.roll(0...10)]
            let classes = zip(parts, [Criticality.critical, .default, .sheddable]).flatMap {
                Array(repeating: $1, count: $0)
            }
            // In turn, so that the latest calls are like all calls.
            for number in 0..<1000 {
                _ = share.admit(classes[number * 7919 % classes.count], at: now, rules) { 0 }
            }
            let all = Double(dice.roll(0...100)) / 100
            let admitted = classes.map { share.share(of: $0, from: all) }.reduce(0, +)
            Law.holds(abs(admitted / Double(classes.count) - all) < 0.12, run)
        }
    }
}
