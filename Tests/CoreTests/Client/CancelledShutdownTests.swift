// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Shutdown in a cancelled task")
struct CancelledShutdownTests {
    /// Tells how many calls are under way when it is closed.
    private struct Closing: SynchronousRequestAdapter {
        let close: @Sendable () -> Void
        func adapt(_ request: inout Request, context: Context) {}
        func shutdown() async { close() }
    }

    @Test("It shortens the grace period, and closes nothing before the calls have ended")
    func order() async throws {
        let (began, mayEnd) = (SharedValue<Void>(), SharedValue<Void>())
        let (clock, notes) = (ManualClock(), Notes())
        // It takes its time to end: it goes on when the test lets it.
        let transport = MockTransport { _ in
            began.settle(.success(()))
            await Task { _ = try? await mayEnd.value() }.value
            notes.add("ended")
            throw CancellationError()
        }
        let client = Client(transport, clock: clock, Closing { notes.add("closed") })
        let call = Task { try await client.get(anywhere).response() }
        try await began.value()
        let shutdown = Task { await client.shutdown(grace: .seconds(10)) }
        try await clock.waitForTimer(in: .seconds(10))
        shutdown.cancel()
        try await clock.waitForTimer(in: .seconds(1))
        #expect(clock.timerCount == 1 && notes.all.isEmpty)
        mayEnd.settle(.success(()))
        await shutdown.value
        #expect(notes.all == ["ended", "closed"])
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("It waits at most a second for responses that are still held")
    func held() async throws {
        let (clock, notes) = (ManualClock(), Notes())
        let client = Client(
            MockTransport { _ in .ok(text: "x") }, clock: clock, Closing { notes.add("closed") })
        let response = try await client.get(anywhere).response()
        let shutdown = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            await client.shutdown(grace: .seconds(10))
        }
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        await shutdown.value
        #expect(notes.all == ["closed"])
        withExtendedLifetime(response) {}
    }

    @Test("Calls that outlast the grace period end with the error that the shutdown names")
    func named() async throws {
        let clock = ManualClock()
        let client = Client(MockTransport { _ in .ok().delayed(by: .seconds(3600)) }, clock: clock)
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimer(in: .seconds(3600))
        let shutdown = Task {
            await client.shutdown(
                grace: .seconds(10), cancellingWith: ClientError(.cancelled, "the end"))
        }
        try await clock.waitForTimer(in: .seconds(10))
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .cancelled && error?.message == "the end")
        await shutdown.value
    }
}
