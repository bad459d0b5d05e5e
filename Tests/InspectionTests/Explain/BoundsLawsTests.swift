// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport
import TurnpikeTesting

@Suite("Laws of bounds")
struct BoundsLawsTests {
    @Test("No call costs more than its stack says, whatever the server does")
    func bounds() async throws {
        for number in Law.runs {
            let stack = RandomStack(number)
            let worst = Stack(stack.gates).explain(stack.request, on: MockTransport([])).worst
            let costs = try await Simulation(seed: Law.seed(number), limit: .seconds(1 << 30)).run {
                simulation in
                let dice = Mutex(Dice(seed: ~Law.seed(number)))
                let mock = MockTransport(recordLimit: 0) { request in
                    dice.withLock { Self.answer(to: request, &$0) }
                }
                let faulty = FaultTransport(
                    mock, seed: number, dice.withLock { Self.faults(&$0) })
                return await stack.measure(
                    MeasuringTransport(faulty), clock: simulation.clock,
                    random: simulation.random, calls: number % 4 == 0 ? 3 : 1)
            }
            for cost in costs {
                if let fault = fault(of: cost, worst) {
                    Issue.record("run \(number): \(fault)\n\(stack.shown)")
                    return
                }
            }
        }
    }

    @Test("No call exceeds the bounds of a stack that the linter calls clean")
    func clean() async throws {
        var clean = 0
        for number in Law.runs {
            let stack = RandomStack(number, isOrderly: true)
            let findings = Stack(stack.gates).lint(for: MockTransport([]))
            if findings.contains(where: { $0.severity != .hint }) { continue }
            clean += 1
            let worst = Stack(stack.gates).explain(stack.request, on: MockTransport([])).worst
            for plan in Adversary.Plan.allCases {
                for cost in try await costs(of: number, isOrderly: true, against: plan) {
                    if let fault = fault(of: cost, worst) {
                        Issue.record("run \(number), \(plan): \(fault)\n\(stack.shown)")
                        return
                    }
                }
            }
        }
        #expect(clean * 20 >= Law.runs.count, "\(clean) clean stacks")
    }

    /// How far an adversary comes: of the stacks with a bound, those in which it reached 90 %.
    private struct Reach {
        var bounded = 0
        var reached = 0

        mutating func note(_ bound: Double?, _ most: Double) {
            // What costs nothing at most cannot be missed.
            guard let bound, bound > 0 else { return }
            bounded += 1
            if most >= 0.9 * bound { reached += 1 }
        }

        var isEnough: Bool { bounded > 10 && 2 * reached >= bounded }
    }

    @Test("An adversary reaches 90 % of the bounds in at least half of the stacks that have them")
    func adversary() async throws {
        var sends = Reach(), head = Reach(), time = Reach(), waiting = Reach()
        for number in Law.runs where number % 3 == 0 {
            let stack = RandomStack(number)
            let worst = Stack(stack.gates).explain(stack.request, on: MockTransport([])).worst
            var most = Cost()
            for plan in Adversary.Plan.allCases {
                for cost in try await costs(of: number, against: plan) {
                    if let fault = fault(of: cost, worst) {
                        Issue.record("run \(number), \(plan): \(fault)\n\(stack.shown)")
                        return
                    }
                    most.sends = max(most.sends, cost.sends)
                    most.head = max(most.head ?? .zero, cost.head ?? .zero)
                    most.time = max(most.time, cost.time)
                    most.waiting = max(most.waiting, cost.waiting)
                }
            }
            sends.note(worst.sends.value.map { Double($0) }, Double(most.sends))
            head.note(worst.head.value?.inSeconds, (most.head ?? .zero).inSeconds)
            time.note(worst.time.value?.inSeconds, most.time.inSeconds)
            waiting.note(worst.waiting.value?.inSeconds, most.waiting.inSeconds)
        }
        #expect(sends.isEnough, "\(sends)")
        #expect(head.isEnough, "\(head)")
        #expect(time.isEnough, "\(time)")
        #expect(waiting.isEnough, "\(waiting)")
    }

    /// What a stack costs its caller when an adversary is the server.
    ///
    /// Gates remember what they met, so each run has a stack of its own.
    private func costs(
        of number: UInt64, isOrderly: Bool = false, against plan: Adversary.Plan
    ) async throws -> [Cost] {
        let stack = RandomStack(number, isOrderly: isOrderly)
        return try await Simulation(seed: Law.seed(number), limit: .seconds(1 << 30))
            .run { simulation in
                await stack.measure(
                    MeasuringTransport(Adversary(plan, stack)), clock: simulation.clock,
                    random: HighestRandom())
            }
    }

    private func fault(of cost: Cost, _ worst: StackBounds) -> String? {
        func exceeds<Value: Comparable>(_ value: Value?, _ bound: StackBound<Value>) -> Bool {
            guard let value, let most = bound.value else { return false }
            return value > most
        }
        if exceeds(Int64(cost.sends), worst.sends) {
            return "\(cost.sends) sends; the bound is \(worst.sends)"
        }
        if exceeds(cost.head, worst.head) {
            return "\(cost.head ?? .zero) to the head; the bound is \(worst.head)"
        }
        if exceeds(cost.time, worst.time) {
            return "\(cost.time) to the end; the bound is \(worst.time)"
        }
        if exceeds(cost.waiting, worst.waiting) {
            return "\(cost.waiting) without an exchange; the bound is \(worst.waiting)"
        }
        if exceeds(Int64(cost.bytes), worst.memory) {
            return "\(cost.bytes) bytes; the bound is \(worst.memory)"
        }
        return nil
    }

    private static func answer(to request: Request, _ dice: inout Dice) -> MockResponse {
        var headers: HTTPHeaders = [:]
        if dice.chance(0.3) { headers[.retryAfter] = String(dice.roll(0...25)) }
        if dice.chance(0.3) { headers[.cacheControl] = "max-age=\(dice.roll(0...60))" }
        let answer: MockResponse
        switch dice.roll(0...13) {
        case 0: answer = .connectionRefused
        case 12, 13: answer = .failure(Adversary.lostConnection)
        case 1: answer = .connectionLost
        case 2, 3:
            let status: HTTPStatus = dice.one(of: [301, 302, 303, 307])
            let host = dice.chance(0.2) ? "b.example" : "a.example"
            headers[.location] = "http://\(host)/\(dice.roll(0...1_000_000))"
            answer = .status(status, headers: headers, body: Data("moved".utf8))
        case 4: answer = .status(401, headers: ["WWW-Authenticate": Self.challenge(&dice)])
        case 5...8:
            let status: HTTPStatus = dice.one(of: [404, 408, 429, 500, 503, 503])
            answer = .stream(
                [Data("ill".utf8)], status: status, headers: headers,
                every: .milliseconds(dice.roll(0...400)))
        default:
            let chunks = (0..<dice.roll(0...4)).map { _ in
                Data(repeating: 0x61, count: dice.roll(1...60))
            }
            answer = .stream(
                chunks, headers: headers, every: .milliseconds(dice.roll(0...900)),
                thenThrow: dice.chance(0.2) ? ClientError(.incomplete, "cut") : nil)
        }
        return answer.delayed(by: .milliseconds(dice.roll(0...(dice.chance(0.1) ? 90_000 : 900))))
    }

    private static func challenge(_ dice: inout Dice) -> String {
        "Digest realm=\"r\", nonce=\"n\(dice.roll(0...99))\", qop=\"auth\""
            + (dice.chance(0.5) ? ", stale=true" : "")
    }

    private static func faults(_ dice: inout Dice) -> [Fault] {
        var faults: [Fault] = []
        if dice.chance(0.3) {
            faults.append(.latency(.exponential(mean: .milliseconds(dice.roll(1...3000)))))
        }
        if dice.chance(0.2) { faults.append(.refuse(share: 0.2)) }
        if dice.chance(0.2) { faults.append(.lose(share: 0.2)) }
        if dice.chance(0.2) {
            faults.append(.status(503, share: 1).inBursts(of: .seconds(5), every: .seconds(20)))
        }
        if dice.chance(0.2) { faults.append(.reset(after: 0...40, share: 0.3)) }
        if dice.chance(0.2) { faults.append(.truncate(after: 0...40, share: 0.3)) }
        if dice.chance(0.2) { faults.append(.drip(bytes: 7, every: .seconds(1), share: 0.4)) }
        return faults
    }
}

/// Random numbers that are as high as they can be: the longest jitter.
struct HighestRandom: RandomSource {
    private struct Generator: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable { Generator() }
}

extension RandomStack {
    /// The stack, for a failure.
    var shown: String { Stack(gates).explain(request, on: MockTransport([])).description }
}
