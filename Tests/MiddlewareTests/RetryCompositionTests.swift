import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Retry, composed")
struct RetryCompositionTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)

    private func sends(
        _ policy: RetryPolicy, _ answer: MockResponse, _ change: (Call) -> Call = { $0 }
    ) async -> Int {
        let transport = MockTransport { _ in answer }
        let client = Client(transport, clock: clock, [.retry(policy: policy, backoff: now)])
        _ = try? await change(client.get(anywhere)).response()
        return transport.sentCount
    }

    @Test("Either of two policies may retry; the first condition is asked first")
    func union() async {
        let conflict = RetryPolicy(statuses: [409], codes: [], urlErrors: [])
        #expect(await sends(.never, .status(503)) == 1)
        #expect(await sends(conflict, .status(503)) == 1)
        #expect(await sends(conflict.or(.standard), .status(503)) == 3)
        #expect(await sends(.standard.or(conflict), .status(409)) == 3)
        let final = RetryPolicy.never.deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
        let always = RetryPolicy.never.deciding { _ in true }
        let marked = MockResponse.status(503, headers: ["X-Final": "1"])
        #expect(await sends(final.or(.standard), marked) == 1)
        #expect(await sends(final.or(always), marked) == 1)
        #expect(await sends(always.or(final), marked) == 3)
        #expect(await sends(final.or(always), .status(404)) == 3)
    }

    @Test("A call that is marked as not retryable is never retried")
    func notRetryable() async {
        #expect(await sends(.standard, .status(503)) { $0.retryable(false) } == 1)
        #expect(await sends(.standard, .connectionRefused) { $0.retryable(false) } == 1)
    }

    @Test("Decorrelated delays grow from the previous delay, between base and maximum")
    func decorrelated() {
        let backoff = Backoff(base: .seconds(1), max: .seconds(20), jitter: .decorrelated)
        func wait(_ previous: Duration?, _ unit: Double) -> Duration {
            backoff.delay(afterAttempt: 5, isThrottled: false, previous: previous, unit: unit)
        }
        #expect(wait(nil, 0) == .seconds(1))
        #expect(wait(nil, 0.5) == .seconds(2))
        #expect(wait(.seconds(4), 0) == .seconds(1))
        #expect(wait(.seconds(4), 0.5) == .seconds(6.5))
        #expect(wait(.seconds(15), 1) == .seconds(20))
        #expect(wait(.zero, 1) == .seconds(3))
    }

    @Test("The previous delay is the one that was used")
    func previousDelay() async throws {
        let client = Client(
            MockTransport { _ in .status(500) }, clock: clock,
            [
                .retry(
                    attempts: 4,
                    backoff: Backoff(base: .seconds(1), max: .seconds(60), jitter: .decorrelated))
            ])
        let call = Task { try await client.get(anywhere).response() }
        var last = Duration.seconds(1)
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            let before = clock.now
            clock.advanceToNextTimer()
            let waited = before.duration(to: clock.now)
            #expect((.seconds(1)...max(last * 3, .seconds(1))).contains(waited))
            last = waited
        }
        #expect(try await call.value.status == 500)
    }

    @Test("The error lists every attempt")
    func history() async throws {
        let transport = MockTransport([
            .any(.status(503).delayed(by: .seconds(1)), .connectionRefused, .status(502))
        ])
        let client = Client(
            transport, clock: clock,
            [.validate(), .retry(backoff: Backoff(base: .seconds(2), jitter: .none))])
        let call = Task { try await client.get(anywhere).response() }
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
        }
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .validation)
        #expect(error?.history.map(\.status) == [503, nil, 502])
        #expect(error?.history.map(\.errorType) == [nil, "connection", nil])
        #expect(error?.history.map(\.elapsed) == [.seconds(1), .zero, .zero])
        #expect(error?.history.map(\.delay) == [nil, .seconds(2), .seconds(4)])
        #expect(
            error?.description.contains(
                "[3 attempts: 503 in 1 s, connection in 0 s, 502 in 0 s]") == true)
        let inside = Client(
            MockTransport { _ in .connectionLost }, clock: clock, [.retry(backoff: now)])
        let second = await #expect(throws: ClientError.self) {
            try await inside.get(anywhere).response()
        }
        #expect(second?.history.map(\.number) == [1, 2, 3])
        #expect(second?.history.map(\.errorType) == ["connection", "connection", "connection"])
    }

    @Test("A call without a retry has no history")
    func noHistory() async throws {
        let client = Client(
            MockTransport { _ in .connectionLost }, clock: clock, [.retry(attempts: 1)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.history.isEmpty == true)
    }
}
