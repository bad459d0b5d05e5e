// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

/// A clock whose timers are due before the one who sets them hears of it, as on a busy machine.
private struct HastyClock: TimeSource {
    private let clock = ManualClock()
    var now: MonotonicInstant { clock.now }
    var date: Date { clock.date }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            handler()
            done.signal()
        }
        done.wait()
        return clock.schedule(after: delay) {}
    }
}

@Suite("A timer that is due at once")
struct EarlyTimerTests {
    @Test("A limit that has passed before its timer is known ends the call all the same")
    func early() async throws {
        let transport = MockTransport { _ in .ok() }
        let gates: [(Stack, ClientError.Code)] = [
            ([.deadline(.milliseconds(5))], .deadlineExceeded),
            ([.attemptTimeout(.milliseconds(5))], .attemptTimeout),
        ]
        for (stack, code) in gates {
            let error = await #expect(throws: ClientError.self) {
                try await Client(transport, clock: HastyClock(), stack).get(anywhere).response()
            }
            #expect(error?.code == code)
        }
    }
}
