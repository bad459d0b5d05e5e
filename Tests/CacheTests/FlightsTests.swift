// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("Flights")
struct FlightsTests {
    @Test("An exchange that nobody waits for any more is cancelled, even while it begins")
    func leftAtOnce() async throws {
        let flights = Flights<String, Int>()
        let context = Context(timeSource: ManualClock())
        let seat = flights.join("key", context: context)
        let release = AsyncStream.makeStream(of: Void.self)
        let wasCancelled = OneShot<Bool>()
        flights.start(seat) { _ in
            // As the timer of a refresh in the background may.
            flights.leave(seat, CancellationError())
            for await _ in release.stream {}
            wasCancelled.settle(.success(Task.isCancelled))
        }
        release.continuation.finish()
        #expect(try await wasCancelled.value {})
        #expect(context.cancelReason != nil)
        #expect(flights.seatCount == 0)
    }
}
