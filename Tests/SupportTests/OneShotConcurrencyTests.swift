// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing
import TurnpikeSupport

@Suite("OneShot, from several threads")
struct OneShotConcurrencyTests {
    private final class Number: @unchecked Sendable {
        var value: Int
        init(_ value: Int) { self.value = value }
    }

    // Under the thread sanitizer, this also tells whether it knows what orders the threads (`scripts/tsan.c`): now and
    // then, the value is settled after the continuation exists and before the task waits for it.
    @Test("What another thread settles the value with arrives, and belongs to the waiting task")
    func values() async throws {
        let place = Mutex<OneShot<Number>?>(nil)
        let isOver = Mutex(false)
        let end = OneShot<Void>()
        DispatchQueue(label: "settler").async {
            var count = 0
            while !isOver.withLock({ $0 }) {
                guard let shot = place.withLock({ $0.take() }) else { continue }
                count += 1
                // At another moment each time.
                for _ in 0..<(count % 64) { _ = isOver.withLock { $0 } }
                shot.settle(.success(Number(count)))
            }
            end.settle(.success(()))
        }
        var sum = 0
        for _ in 0..<50_000 {
            let shot = OneShot<Number>()
            place.withLock { $0 = shot }
            let number = try await shot.value {}
            number.value *= 2
            sum += number.value
        }
        isOver.withLock { $0 = true }
        try await end.value {}
        #expect(sum == 50_000 * 50_001)
    }
}
