// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("RetryBudget, from several threads")
struct RetryBudgetConcurrencyTests {
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test("A budget grants no more than it has, and grants again what is returned")
    func bound() async {
        let budget = RetryBudget(ratio: 0.5, window: .seconds(10), floorPerSecond: 0)
        var granted = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1000 { budget.deposit(for: origin, at: now) }
                    return 0
                }
                group.addTask {
                    var kept = 0
                    for number in 0..<2000 where budget.withdraw(for: origin, at: now) {
                        if number % 2 == 0 {
                            budget.giveBack(for: origin, at: now)
                        } else {
                            kept += 1
                        }
                    }
                    return kept
                }
            }
            return await group.reduce(0, +)
        }
        #expect(granted <= 2000)
        while budget.withdraw(for: origin, at: now) { granted += 1 }
        #expect(granted == 2000, "half of the calls, to the last one")
    }

    @Test("A thousand failing calls never send more than the budget allows")
    func calls() async {
        let budget = RetryBudget(ratio: 0, window: .seconds(10), floorPerSecond: 5)
        let transport = MockTransport(recordLimit: 0) { _ in
            throw ClientError(.connection, "lost", transfer: TransferState(.connecting))
        }
        let client = Client(transport, [.retry(backoff: Backoff(base: .zero), budget: budget)])
        await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask { _ = try? await client.get(anywhere).response() }
            }
        }
        #expect(transport.sentCount == 1050)
    }
}
