// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeTesting

@Suite("Waits that are too long")
struct WaitExpiredTests {
    private let limit = Duration.milliseconds(5)

    private func text(of wait: () async throws -> Void) async -> String? {
        await #expect(throws: WaitExpired.self) { try await wait() }?.description
    }

    @Test("A clock says which timers did not come, and when those that it has are due")
    func clock() async {
        let clock = ManualClock()
        #expect(
            await text { try await clock.waitForTimers(1, limit: limit) }
                == "waited 5 ms for 1 timer; the clock has no timers")
        var timers = [clock.schedule(after: .seconds(30)) {}]
        #expect(
            await text { try await clock.waitForTimers(2, limit: limit) }
                == "waited 5 ms for 2 timers; the clock has 1 timer, due in 30 s")
        timers.append(clock.schedule(after: .milliseconds(1500)) {})
        clock.advance(by: .seconds(1))
        #expect(
            await text { try await clock.waitForTimer(in: .seconds(2), limit: limit) }
                == "waited 5 ms for a timer that is due in 2 s; "
                + "the clock has 2 timers, due in 500 ms, 29 s")
        for number in 1...100 { timers.append(clock.schedule(after: .seconds(number)) {}) }
        #expect(
            await text { try await clock.waitForTimers(200, limit: limit) }?
                .hasSuffix("102 timers, due in 500 ms, 1 s, 2 s, 3 s, 4 s, 5 s, 6 s, 7 s and more")
                == true)
        for timer in timers { timer.cancel() }
    }

    @Test("The time for which no task gets a thread does not count")
    func busy() async throws {
        let clock = ManualClock()
        let (turns, isLate) = (Tally(), Tally())
        await withTaskGroup { group in
            // They keep all threads for longer than the limit. What waits behind them is the code
            // that schedules the timer: a machine that is too busy for it is no fault of the code.
            for _ in 0..<(4 * ProcessInfo.processInfo.activeProcessorCount) {
                group.addTask {
                    let end = ContinuousClock.now + .milliseconds(20)
                    while ContinuousClock.now < end { turns.add() }
                }
            }
            group.addTask { _ = clock.schedule(after: .seconds(1)) {} }
            do {
                try await clock.waitForTimers(1, limit: limit)
            } catch {
                isLate.add()
            }
        }
        #expect(isLate.count == 0)
        #expect(clock.timerCount == 1)
    }

    @Test("A server says how many requests have come, and goes on")
    func server() async throws {
        let server = try TestServer()
        let first = await text { try await server.waitForRequests(2, limit: limit) }
        #expect(
            first?.hasPrefix(
                "waited 5 ms for 2 requests to a server; there are Counts(requests: 0")
                == true)
        let second = await text { try await server.wait(limit: limit) { $0.open > 0 } }
        #expect(second?.contains("a condition on the counts of a server") == true)
        try await server.wait { $0.open == 0 }
    }

    @Test("So does a test that asks again and again")
    func asking() async throws {
        let tally = Tally()
        #expect(
            await text { try await until("a fifth", limit: limit) { tally.count > 4 } }
                == "waited 5 ms for a fifth")
        try await until("a fifth") { tally.add() == 5 }
        #expect(tally.count == 5)
    }
}
