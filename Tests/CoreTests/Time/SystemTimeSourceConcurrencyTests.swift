// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("SystemTimeSource, from several threads")
struct SystemTimeSourceConcurrencyTests {
    private final class Plan: Sendable {
        let runs = Tally()
        let token = Mutex<(any TimerToken)?>(nil)
        let delay: Duration
        let isCancelled: Bool

        init(number: Int) {
            delay = .microseconds(number % 40 * 100)
            isCancelled = number % 2 == 0
        }
    }

    @Test("Each timer that is not cancelled runs exactly once, under concurrent use")
    func timers() async {
        let source = SystemTimeSource()
        let plans = (0..<4000).map { Plan(number: $0) }
        let schedule: @Sendable (Plan) async -> Void = { plan in
            plan.token.withLock { token in
                if token == nil {
                    token = source.schedule(after: plan.delay) { plan.runs.add() }
                }
            }
        }
        await atOnce(
            plans, schedule,
            { plan in
                await schedule(plan)
                let token = plan.token.withLock { $0 }
                if plan.isCancelled { token?.cancel() }
            },
            { plan in
                let token = plan.token.withLock { $0 }
                if plan.isCancelled { token?.cancel() }
            })
        // Later than all of them, on the same queue.
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        _ = source.schedule(after: .milliseconds(10)) { continuation.yield() }
        for await _ in stream.prefix(1) {}
        #expect(plans.allSatisfy { $0.runs.count <= 1 })
        #expect(plans.allSatisfy { $0.isCancelled || $0.runs.count == 1 })
    }
}
