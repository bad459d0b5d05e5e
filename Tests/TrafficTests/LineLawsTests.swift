// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

/// The line of a gate that lets one call go at a time.
private struct OneByOne {
    enum Kind: CaseIterable { case concurrency, rate }

    let take: (Precedence) throws -> Waiter?
    let leave: (Waiter) -> Bool
    /// Gives the next waiter its turn.
    let serve: () -> Void

    init(_ kind: Kind, queue: Int) {
        let clock = ManualClock()
        let origin = Origin(scheme: "http", host: "a", port: 80)
        switch kind {
        case .concurrency:
            let permits = Permits(total: 9, perOrigin: 1, queue: queue, adaptive: nil)
            take = { try permits.take(origin, $0, timeSource: clock) }
            leave = { permits.leave(origin, $0) }
            serve = { permits.giveBack(origin) }
        case .rate:
            let limiter = RateLimit(perSecond: 1, queue: queue).limiter
            let key = QuotaKey(origin: origin)
            take = { try limiter.take(key, $0, timeSource: clock) }
            leave = { limiter.leave(key, $0, clock) }
            serve = { clock.advance(by: .seconds(1)) }
        }
    }
}

@Suite("Laws of lines with classes")
struct LineLawsTests {
    private struct Waiting {
        let waiter: Waiter
        /// How many stood in line before it.
        let older: Int
        var turns = 0
    }

    @Test(
        "Nothing starves, higher classes go first and lower ones are refused first, at random arrivals",
        arguments: OneByOne.Kind.allCases)
    private func classes(kind: OneByOne.Kind) throws {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let queue = dice.roll(1...40)
            let gate = OneByOne(kind, queue: queue)
            let keys = dice.chance(0.5) ? ["a", "b", "c"] : [nil]
            // Of ten arrivals; the others are sheddable.
            let critical = dice.roll(0...9)
            let arrivals = dice.roll(1...9)
            var line: [Waiting] = []
            var (overtakes, aged) = (0, 0)
            _ = try gate.take(Precedence())
            for _ in 0..<600 {
                if dice.chance(0.02), !line.isEmpty {
                    let one = line.remove(at: dice.roll(0...(line.count - 1)))
                    Law.holds(gate.leave(one.waiter), run)
                } else if dice.roll(0...9) < arrivals {
                    let criticality: Criticality =
                        dice.roll(0...9) < critical
                        ? .critical : dice.chance(0.5) ? .sheddable : .default
                    let precedence = Precedence(criticality: criticality, key: dice.one(of: keys))
                    let lowest = line.map(\.waiter.rank.level).max() ?? 0
                    guard let waiter = try? gate.take(precedence) else {
                        Law.holds(line.count == queue, run, "room")
                        Law.holds(lowest <= criticality.level, run, "a lower one is refused first")
                        continue
                    }
                    let refused = line.filter { $0.waiter.turn.isSettled }
                    Law.holds(refused.count == (line.count == queue ? 1 : 0), run, "one refused")
                    Law.holds(
                        refused.allSatisfy { $0.waiter.rank.level == lowest }, run, "the lowest")
                    line.removeAll { $0.waiter.turn.isSettled }
                    line.append(Waiting(waiter: waiter, older: line.count))
                } else if !line.isEmpty {
                    gate.serve()
                    let served = line.firstIndex { $0.waiter.turn.isSettled }
                    guard let served else { return Law.holds(false, run, "a turn for each permit") }
                    let highest = line.map(\.waiter.rank.level).min()
                    let waiter = line[served].waiter
                    let isNext =
                        waiter.rank.level == highest
                        && (keys.count > 1
                            || !line[..<served].contains { $0.waiter.rank.level == highest })
                    Law.holds(isNext || served == 0, run, "the highest class, or the oldest")
                    if served > 0 { overtakes += 1 }
                    if !isNext { aged += 1 }
                    line.remove(at: served)
                    Law.holds(!line.contains { $0.waiter.turn.isSettled }, run, "one turn")
                    for index in line.indices {
                        line[index].turns += 1
                        let most = (WaitingLine.patience + 1) * (line[index].older + 1)
                        Law.holds(line[index].turns < most, run, "nothing starves")
                    }
                } else {
                    // The permit is given back, and taken again.
                    gate.serve()
                    Law.holds(try gate.take(Precedence()) == nil, run)
                }
            }
            Law.holds(aged * WaitingLine.patience <= overtakes, run, "at most one in 20")
            for _ in line { gate.serve() }
            Law.holds(line.allSatisfy { $0.waiter.turn.isSettled }, run, "lost")
        }
    }

    @Test("Keys that wait have equally many turns", arguments: OneByOne.Kind.allCases)
    private func turns(kind: OneByOne.Kind) throws {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let gate = OneByOne(kind, queue: 10_000)
            _ = try gate.take(Precedence())
            let keys = (0..<dice.roll(2...5)).map(String.init)
            // One key may have many more than the others.
            var left = keys.map { _ in dice.chance(0.3) ? dice.roll(50...200) : dice.roll(5...20) }
            var waiters: [(key: Int, waiter: Waiter)] = []
            while left.contains(where: { $0 > 0 }) {
                let key = dice.one(of: left.indices.filter { left[$0] > 0 })
                left[key] -= 1
                if let waiter = try gate.take(Precedence(key: keys[key])) {
                    waiters.append((key, waiter))
                }
            }
            var counts = keys.map { _ in 0 }
            while Set(waiters.map(\.key)).count == keys.count {
                gate.serve()
                for (key, waiter) in waiters where waiter.turn.isSettled { counts[key] += 1 }
                waiters.removeAll { $0.waiter.turn.isSettled }
                let difference = (counts.max() ?? 0) - (counts.min() ?? 0)
                Law.holds(difference <= 1, run, "\(counts)")
            }
        }
    }

    @Test("Over several origins, too, nothing starves, and lower ones are refused first")
    func origins() throws {
        let clock = ManualClock()
        let origins = ["a", "b", "c"].map { Origin(scheme: "http", host: $0, port: 80) }
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let total = dice.roll(1...4)
            let permits = Permits(
                total: total, perOrigin: dice.roll(1...3), queue: 60, adaptive: nil)
            var held: [Origin] = []
            var line: [Waiting] = []
            var (turns, lower) = (0, 0)
            // Only some origins have calls of the highest class.
            let important = Array(origins.prefix(dice.roll(1...3)))
            for _ in 0..<1500 {
                if dice.chance(0.6) || held.isEmpty {
                    let criticality = dice.chance(0.5) ? Criticality.critical : .sheddable
                    let origin = dice.one(of: criticality == .critical ? important : origins)
                    let precedence = Precedence(criticality: criticality)
                    do {
                        let waiter = try permits.take(origin, precedence, timeSource: clock)
                        line.removeAll { $0.waiter.turn.isSettled }
                        if let waiter {
                            line.append(Waiting(waiter: waiter, older: line.count))
                        } else {
                            held.append(origin)
                        }
                    } catch {
                        let isLower = line.contains { $0.waiter.rank.level > criticality.level }
                        Law.holds(line.count == 60 && !isLower, run, "refused")
                    }
                } else {
                    permits.giveBack(held.remove(at: dice.roll(0...(held.count - 1))))
                    let served = line.filter { $0.waiter.turn.isSettled }
                    line.removeAll { $0.waiter.turn.isSettled }
                    held += served.compactMap(\.waiter.origin)
                    Law.holds(held.count <= total, run, "held")
                    turns += served.count
                    for index in line.indices {
                        line[index].turns += served.count
                        let most = 400 * (line[index].older + 1)
                        Law.holds(line[index].turns < most, run, "nothing starves")
                    }
                    lower += served.count { $0.waiter.rank.level > 0 }
                }
            }
            Law.holds(turns > 0 && lower > 0, run, "both classes are served")
            while let origin = held.popLast() {
                permits.giveBack(origin)
                held += line.filter { $0.waiter.turn.isSettled }.compactMap(\.waiter.origin)
                line.removeAll { $0.waiter.turn.isSettled }
            }
            Law.holds(line.isEmpty && permits.waitingCount == 0, run, "lost")
        }
    }
}
