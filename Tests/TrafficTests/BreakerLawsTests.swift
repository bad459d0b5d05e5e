// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Laws of breakers and budgets")
struct BreakerLawsTests {
    @Test("A breaker never lets through more than its probes, nor anything while it is open")
    func probes() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let rules = Circuit.Rules(
                failureRatio: Double(dice.roll(1...10)) / 10, minimum: dice.roll(1...8),
                open: .seconds(dice.roll(1...10)), maxOpen: .seconds(dice.roll(10...40)),
                probes: dice.roll(1...4))
            var circuit = Circuit(window: .seconds(30))
            var now = MonotonicInstant(nanoseconds: 0)
            var underWay: [UInt64] = []
            // The probes of the present half-open phase that have not been given back.
            var probes: [UInt64: Int] = [:]
            var openUntil: MonotonicInstant?
            for _ in 0..<dice.roll(10...80) {
                switch dice.roll(0...9) {
                case 0...4:
                    let before = circuit.state
                    switch circuit.admit(at: now, rules) {
                    case .pass(let generation):
                        underWay.append(generation)
                        if let openUntil, before == .open {
                            Law.holds(now >= openUntil, run, "too early")
                        }
                        if circuit.state == .halfOpen {
                            probes[generation, default: 0] += 1
                            let count = probes[generation, default: 0]
                            Law.holds(count <= rules.probes, run)
                        }
                    case .refuse(let until):
                        Law.holds(before != .closed && now < until, run)
                    case .isolate: Law.holds(false, run, "nobody has isolated it")
                    }
                case 5...8 where !underWay.isEmpty:
                    let generation = underWay.remove(at: dice.roll(0...(underWay.count - 1)))
                    let verdict = dice.one(of: [CircuitVerdict.success, .failure, .ignored])
                    let before = circuit.state
                    let change = circuit.record(
                        verdict, generation: generation, at: now, rules)
                    if verdict == .ignored {
                        probes[generation].map { probes[generation] = $0 - 1 }
                        Law.holds(change == nil, run)
                    }
                    if change == .open {
                        Law.holds(verdict == .failure && before != .open, run)
                        openUntil = now.advanced(by: rules.open)
                    }
                default: now = now.advanced(by: .milliseconds(dice.roll(1...9000)))
                }
            }
        }
    }

    @Test("An isolated circuit admits nothing until it is closed by hand, whatever ends meanwhile")
    func byHand() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let rules = Circuit.Rules(
                failureRatio: 0.5, minimum: dice.roll(1...4), open: .seconds(2),
                maxOpen: .seconds(8), probes: dice.roll(1...3))
            var circuit = Circuit(window: .seconds(30))
            var now = MonotonicInstant(nanoseconds: 0)
            var underWay: [UInt64] = []
            var isIsolated = false
            for _ in 0..<dice.roll(10...80) {
                switch dice.roll(0...9) {
                case 0...3:
                    let wait = circuit.remaining(at: now, rules)
                    switch circuit.admit(at: now, rules) {
                    case .pass(let generation):
                        Law.holds(!isIsolated && wait == .zero, run)
                        underWay.append(generation)
                    case .refuse(let until):
                        Law.holds(!isIsolated && wait == now.duration(to: until), run)
                    case .isolate: Law.holds(isIsolated && wait == nil, run)
                    }
                case 4...6 where !underWay.isEmpty:
                    let change = circuit.record(
                        dice.one(of: [CircuitVerdict.success, .failure, .ignored]),
                        generation: underWay.removeFirst(), at: now, rules)
                    Law.holds(change == nil || !isIsolated, run)
                case 7:
                    circuit.isolate(by: "Ann")
                    isIsolated = true
                case 8:
                    circuit.close()
                    isIsolated = false
                default: now = now.advanced(by: .milliseconds(dice.roll(1...4000)))
                }
            }
        }
    }

    @Test(
        "A circuit without an open time, or with one below zero, opens without end",
        arguments: [-1, 0])
    func noOpenTime(seconds: Int) {
        let rules = Circuit.Rules(
            failureRatio: 0.5, minimum: 1, open: .seconds(seconds), maxOpen: .seconds(seconds),
            probes: 1)
        var circuit = Circuit(window: .seconds(30))
        var now = MonotonicInstant(nanoseconds: 0)
        for _ in 0..<200 {
            guard case .pass(let generation) = circuit.admit(at: now, rules) else {
                Issue.record("a circuit does not admit a call after its open time")
                return
            }
            #expect(circuit.record(.failure, generation: generation, at: now, rules) == .open)
            #expect(circuit.remaining(at: now, rules) == .milliseconds(1))
            now = now.advanced(by: .milliseconds(1))
        }
    }

    @Test("Retries are never more than the budget in any window")
    func budget() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let ratio = Double(dice.roll(0...10)) / 10
            let floor = dice.roll(0...2)
            let budget = RetryBudget(
                ratio: ratio, window: .seconds(10), floorPerSecond: Double(floor))
            let origin = Origin(scheme: "http", host: "a", port: 80)
            var now: Int64 = 0
            var calls: [Int64] = []
            var retries: [Int64] = []
            for _ in 0..<dice.roll(10...60) {
                let instant = MonotonicInstant(nanoseconds: now)
                switch dice.roll(0...9) {
                case 0...3:
                    budget.deposit(for: origin, at: instant)
                    calls.append(now)
                case 4...7:
                    guard budget.withdraw(for: origin, at: instant) else { continue }
                    retries.append(now)
                    // The slots are whole seconds, and the newest of ten is the present one.
                    let first = (now / 1_000_000_000 - 9) * 1_000_000_000
                    let counted = calls.count { $0 >= first }
                    let made = retries.count { $0 >= first }
                    let allowed = ratio * Double(counted) + Double(floor * 10)
                    Law.holds(Double(made) <= allowed, run)
                case 8 where !retries.isEmpty:
                    budget.giveBack(for: origin, at: instant)
                    let first = (now / 1_000_000_000 - 9) * 1_000_000_000
                    if (retries.last ?? -1) >= first { retries.removeLast() }
                default: now += Int64(dice.roll(1...2000)) * 1_000_000
                }
            }
        }
    }
}
