// SPDX-License-Identifier: Apache-2.0

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

    @Test("A clock says which timers did not come, and how many there are")
    func clock() async {
        let clock = ManualClock()
        let timer = clock.schedule(after: .seconds(1)) {}
        #expect(
            await text { try await clock.waitForTimers(2, limit: limit) }
                == "waited 0.005 seconds for 2 timers; the clock has 1 timers")
        #expect(
            await text { try await clock.waitForTimer(in: .seconds(2), limit: limit) }
                == "waited 0.005 seconds for a timer that is due in 2.0 seconds; "
                + "the clock has 1 timers")
        timer.cancel()
    }

    @Test("A server says how many requests have come, and goes on")
    func server() async throws {
        let server = try TestServer()
        let first = await text { try await server.waitForRequests(2, limit: limit) }
        #expect(
            first?.hasPrefix(
                "waited 0.005 seconds for 2 requests to a server; there are Counts(requests: 0")
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
                == "waited 0.005 seconds for a fifth")
        try await until("a fifth") { tally.add() == 5 }
        #expect(tally.count == 5)
    }
}
