// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Laws of limiters")
struct LimiterLawsTests {
    private static let origins = ["a", "b", "c"].map {
        Origin(scheme: "http", host: $0, port: 80)
    }

    private struct Waiting {
        let origin: Origin
        let waiter: Waiter
    }

    @Test("Permits stay in bounds, queues are first come, first served, and no call is lost")
    func permits() {
        let clock = ManualClock()
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let total = dice.roll(1...4)
            let perOrigin = dice.roll(1...3)
            let queue = dice.roll(0...6)
            let permits = Permits(
                total: total, perOrigin: perOrigin, queue: queue, adaptive: nil)
            var held: [Origin] = []
            var line: [Waiting] = []
            // Whoever was served must have stood first among those to its origin.
            func collect() {
                for origin in Self.origins {
                    let mine = line.filter { $0.origin == origin }
                    let served = mine.prefix { $0.waiter.turn.isSettled }.count
                    let isInOrder = !mine.dropFirst(served).contains { $0.waiter.turn.isSettled }
                    Law.holds(isInOrder, run)
                }
                held += line.filter { $0.waiter.turn.isSettled }.map(\.origin)
                line.removeAll { $0.waiter.turn.isSettled }
            }
            for _ in 0..<dice.roll(5...40) {
                let choice = dice.roll(0...9)
                if choice < 5 {
                    let origin = dice.one(of: Self.origins)
                    let hadRoom =
                        held.count < total && held.count { $0 == origin } < perOrigin
                    switch Result(catching: { try permits.take(origin, timeSource: clock) }) {
                    case .success(nil): held.append(origin)
                    case .success(let waiter?):
                        Law.holds(!hadRoom, run)
                        line.append(Waiting(origin: origin, waiter: waiter))
                    case .failure: Law.holds(line.count == queue, run)
                    }
                } else if choice < 8, !held.isEmpty {
                    permits.giveBack(held.remove(at: dice.roll(0...(held.count - 1))))
                } else if !line.isEmpty {
                    let one = line.remove(at: dice.roll(0...(line.count - 1)))
                    Law.holds(permits.leave(one.origin, one.waiter), run)
                    Law.holds(!one.waiter.turn.isSettled, run)
                }
                collect()
                let isBounded =
                    held.count <= total && line.count <= queue
                    && Self.origins.allSatisfy { origin in
                        held.count { $0 == origin } <= perOrigin
                    }
                Law.holds(isBounded, run)
                Law.holds(permits.heldCount == held.count, run)
            }
            while let origin = held.popLast() {
                permits.giveBack(origin)
                collect()
            }
            Law.holds(line.isEmpty && permits.waitingCount == 0, run, "lost")
        }
    }

    @Test(
        "A limit that follows latency stays in its bounds, whatever it hears, and gives permits by it"
    )
    func latency() {
        let origin = Self.origins[0]
        let request = Request(.get, "http://a/")
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let (lowest, most) = (dice.roll(1...5), dice.roll(5...40))
            var rule = AdaptiveLimit(initial: dice.roll(lowest...50), min: lowest)
            rule.followsLatency = true
            let permits = Permits(total: 1000, perOrigin: most, queue: 0, adaptive: rule)
            let clock = ManualClock()
            var held = 0
            func takes() -> Bool {
                do { return try permits.take(origin, timeSource: clock) == nil } catch {
                    return false
                }
            }
            for _ in 0..<500 {
                let sentAt = clock.now
                while takes() { held += 1 }
                Law.holds(held >= min(lowest, most), run, "fewer than the lowest")
                Law.holds(held <= most, run, "more than the most")
                clock.advance(by: .milliseconds(dice.roll(0...300)))
                let status: HTTPStatus = dice.chance(0.02) ? 503 : 200
                let outcome = Outcome(
                    request: request, result: .success(Response(to: request, status: status)))
                permits.observe(
                    outcome, origin, sentAt: dice.chance(0.05) ? nil : sentAt, at: clock.now)
                permits.giveBack(origin)
                held -= 1
                Law.holds((lowest...most).contains(permits.limit(of: origin)), run, "the limit")
                while held > permits.limit(of: origin) {
                    permits.giveBack(origin)
                    held -= 1
                }
            }
        }
    }

    @Test("A rate is never exceeded, queues are first come, first served, and no call is lost")
    func rates() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let burst = dice.roll(1...4)
            let queue = dice.roll(0...6)
            let rule = QuotaRule(
                Double(dice.roll(1...50)), per: .seconds(1), burst: Double(burst))
            let interval = PermitRates([rule]).first.interval
            let limiter = RateLimit([rule], queue: queue).limiter
            let clock = ManualClock()
            let origin = QuotaKey(origin: Self.origins[0])
            var served: [Int64] = []
            var line: [Waiter] = []
            func collect() {
                let count = line.prefix { $0.turn.isSettled }.count
                let isInOrder = !line.dropFirst(count).contains { $0.turn.isSettled }
                Law.holds(isInOrder, run)
                served += Array(repeating: clock.now.nanoseconds, count: count)
                line.removeFirst(count)
            }
            for _ in 0..<dice.roll(5...30) {
                switch dice.roll(0...5) {
                case 0...3:
                    let left = dice.chance(0.3) ? Duration.milliseconds(dice.roll(1...400)) : nil
                    let taken = Result {
                        try limiter.take(
                            origin, deadline: left.map { clock.now.advanced(by: $0) },
                            timeSource: clock)
                    }
                    switch taken {
                    case .success(nil):
                        Law.holds(line.isEmpty, run, "overtook")
                        served.append(clock.now.nanoseconds)
                    case .success(let waiter?): line.append(waiter)
                    case .failure(let error as ClientError):
                        let isKnown =
                            error.code == .rateLimited && line.count == queue
                            || error.code == .deadlineExceeded
                                && (error.retryAfter ?? .zero) >= (left ?? .seconds(9999))
                        Law.holds(isKnown, run)
                    case .failure: Law.holds(false, run)
                    }
                case 4 where !line.isEmpty:
                    let one = line.remove(at: dice.roll(0...(line.count - 1)))
                    Law.holds(limiter.leave(origin, one, clock), run)
                default:
                    if clock.timerCount == 0 {
                        clock.advance(by: .milliseconds(dice.roll(1...500)))
                    } else {
                        clock.advanceToNextTimer()
                    }
                }
                collect()
            }
            while clock.advanceToNextTimer() { collect() }
            Law.holds(line.isEmpty && limiter.waitingCount == 0, run, "lost")
            for first in served.indices {
                for last in first..<served.count {
                    let time = served[last] - served[first]
                    let isWithin = last - first + 1 <= burst + Int(time / interval)
                    Law.holds(isWithin, run)
                }
            }
        }
    }
}
