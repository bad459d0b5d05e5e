// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Budgets of many origins")
struct RetryBudgetOriginTests {
    private let now = MonotonicInstant(nanoseconds: 5_000_000_000)

    private func origin(_ number: Int) -> Origin {
        Origin(scheme: "https", host: "host-\(number).example", port: 443)
    }

    private func retries(of number: Int, in budget: RetryBudget) -> Int {
        (0..<10_000).first { _ in !budget.withdraw(for: origin(number), at: now) } ?? 10_000
    }

    @Test("Each origin keeps its own account, whichever others were forgotten")
    func accounts() {
        let budget = RetryBudget(ratio: 1, floorPerSecond: 0)
        let last = 1500
        // One that is used again and again, among more than are remembered.
        for number in 1...last {
            for origin in [origin(0), origin(number), origin(number), origin(0)] {
                budget.deposit(for: origin, at: now)
            }
        }
        #expect(retries(of: last, in: budget) == 2)
        #expect(retries(of: last - 1, in: budget) == 2)
        #expect(retries(of: 0, in: budget) == 2 * last)
        #expect(retries(of: 1, in: budget) == 0)
        #expect(retries(of: 0, in: budget) == 0)
    }

    @Test("A clock may begin below zero: earlier calls still count after zero")
    func belowZero() {
        let budget = RetryBudget(ratio: 1, window: .seconds(10), floorPerSecond: 0)
        func second(_ number: Int64) -> MonotonicInstant {
            MonotonicInstant(nanoseconds: number * 1_000_000_000)
        }
        for number in [-4, -3, -2, -1, 4] as [Int64] {
            budget.deposit(for: origin(0), at: second(number))
        }
        for _ in 0..<5 { #expect(budget.withdraw(for: origin(0), at: second(4))) }
        #expect(!budget.withdraw(for: origin(0), at: second(4)))
    }
}
