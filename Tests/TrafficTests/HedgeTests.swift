// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Hedge")
struct HedgeTests {
    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    private func client(_ hedge: Hedge, _ answers: [MockResponse]) -> (Client, MockTransport) {
        let transport = MockTransport([MockStub(answers) { _ in true }])
        return (Client(transport, clock: clock, [hedge]), transport)
    }

    private func text(_ call: Call) -> Task<String, any Error> {
        Task { try await call.serialize(with: Text()) }
    }

    @Test("A percentile that is not a number counts as 1", arguments: [-Double.nan, .nan])
    func notANumber(part: Double) async throws {
        let (client, transport) = client(Hedge(after: .percentile(part)), [.ok(text: "a")])
        for _ in 0..<30 { _ = try await client.get(anywhere).response() }
        #expect(transport.sentCount == 30)
    }

    @Test("A response in time starts no hedge")
    func inTime() async throws {
        let (client, transport) = client(
            Hedge(after: .seconds(1)), [.ok(text: "a").delayed(by: .milliseconds(900))])
        let call = text(client.get(anywhere))
        try await clock.waitForTimers(2)
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value == "a")
        #expect(transport.sentCount == 1)
        #expect(clock.timerCount == 0)
    }

    @Test("The first response wins, and the other attempt is cancelled")
    func hedgeWins() async throws {
        let (client, transport) = client(
            Hedge(after: .seconds(1)),
            [.ok(text: "slow").delayed(by: .seconds(60)), .ok(text: "b").delayed(by: .seconds(2))])
        let call = text(client.get(anywhere))
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(in: .seconds(2))
        clock.advance(by: .seconds(2))
        #expect(try await call.value == "b")
        #expect(transport.sentCount == 2)
        await client.shutdown()
        // Its task removes its timer.
        try await until("the end of the slow one") { clock.timerCount == 0 }
    }

    @Test("The first attempt may still win, and its body outlives the race")
    func firstWins() async throws {
        let chunks = [Data("a".utf8), Data("b".utf8)]
        let slow = MockResponse.stream(chunks, every: .seconds(10)).delayed(by: .seconds(2))
        let (client, transport) = client(
            Hedge(after: .seconds(1)), [slow, .ok(text: "x").delayed(by: .seconds(60))])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(in: .seconds(60))
        clock.advance(by: .seconds(1))
        let response = try await call.value
        let reading = Task { try await response.body.collect(upTo: 10) }
        for _ in 0..<3 {
            try await clock.waitForTimer(in: .seconds(10))
            clock.advance(by: .seconds(10))
        }
        #expect(try await reading.value == Data("ab".utf8))
        #expect(transport.sentCount == 2)
    }

    @Test("A bad response waits for a better one, and is returned if none comes")
    func badAnswers() async throws {
        for (second, expected) in [
            (MockResponse.ok(text: "b"), HTTPStatus.ok), (.connectionLost, .serviceUnavailable),
        ] {
            let (client, _) = client(
                Hedge(after: .seconds(1)),
                [.status(503).delayed(by: .seconds(2)), second.delayed(by: .seconds(5))])
            let call = Task { try await client.get(anywhere).response().status }
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(1))
            try await clock.waitForTimer(in: .seconds(5))
            clock.advance(by: .seconds(1))
            clock.advance(by: .seconds(4))
            #expect(try await call.value == expected)
        }
    }

    @Test("A response is bad if its status says that another attempt may have a better one")
    func badStatuses() {
        let statuses: [HTTPStatus] = [200, 404, 407, 408, 409, 428, 429, 430, 499, 500, 599]
        #expect(statuses.filter(Hedge.isBad) == [408, 429, 500, 599])
    }

    @Test("A percentile is the time that its share of the attempts did not exceed")
    func shares() {
        func edge(_ time: Duration) -> Duration {
            LatencyHistogram.upperEdge(of: LatencyHistogram.bucket(of: time))
        }
        for (share, time) in [(0.5, Duration.milliseconds(1)), (0.55, .seconds(1))] {
            var histogram = LatencyHistogram()
            for number in 1...20 {
                #expect(histogram.percentile(share, at: clock.now) == nil)
                histogram.record(number <= 10 ? .milliseconds(1) : .seconds(1), at: clock.now)
            }
            #expect(histogram.percentile(share, at: clock.now) == edge(time))
        }
    }

    @Test("A failure before the delay starts no hedge")
    func earlyFailure() async throws {
        let (client, transport) = client(Hedge(after: .seconds(1)), [.connectionLost])
        #expect(await code(of: client.get(anywhere)) == .connection)
        #expect(transport.sentCount == 1)
        #expect(clock.timerCount == 0)
    }

    @Test("Only safe methods with replayable content are hedged")
    func unsafe() async throws {
        let slow = MockResponse.ok().delayed(by: .seconds(2))
        let stream = RequestBody.stream(replayable: true) { AsyncStream<Data> { $0.finish() } }
        for request in [
            Request(.post, anywhere), Request(.put, anywhere), Request(.delete, anywhere),
            Request(.query, anywhere, body: stream),
        ] {
            let (client, transport) = client(Hedge(after: .seconds(1)), [slow])
            let call = Task { try await client.request(request).response() }
            try await clock.waitForTimer(in: .seconds(2))
            #expect(clock.timerCount == 1)
            clock.advance(by: .seconds(2))
            _ = try await call.value
            #expect(transport.sentCount == 1)
        }
    }

    @Test("No more attempts than allowed, each after the delay")
    func attempts() async throws {
        let (client, transport) = client(
            Hedge(after: .seconds(1), attempts: 3), [.ok().delayed(by: .seconds(60))])
        let call = Task { try await client.get(anywhere).response() }
        for count in [2, 3] {
            try await clock.waitForTimer(in: .seconds(1))
            clock.advance(by: .seconds(1))
            try await transport.waitForSends(count)
        }
        clock.advance(by: .seconds(5))
        #expect(transport.sentCount == 3)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await client.shutdown()
        try await until("the ends of the attempts") { clock.timerCount == 0 }
    }

    @Test("A deadline ends all attempts")
    func deadline() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(60)) }
        let client = Client(
            transport, clock: clock, [.deadline(.seconds(3)), .hedge(after: .seconds(1))])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(3)
        clock.advance(by: .seconds(1))
        try await transport.waitForSends(2)
        clock.advance(by: .seconds(2))
        #expect(await call.value == .deadlineExceeded)
        await client.shutdown()
        try await until("the ends of the attempts") { clock.timerCount == 0 }
    }

    @Test("Hedges and retries draw from one budget, and count a call once")
    func budget() async throws {
        let budget = RetryBudget(ratio: 1, window: .seconds(10), floorPerSecond: 0)
        let transport = MockTransport([
            .any(.ok().delayed(by: .seconds(60)), .connectionLost, .connectionLost)
        ])
        let client = Client(
            transport, clock: clock,
            [
                .retry(backoff: Backoff(base: .zero), budget: budget),
                .hedge(after: .seconds(1), budget: budget),
            ])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(2)
        // The hedge spends all that one call allows.
        clock.advance(by: .seconds(1))
        try await transport.waitForSends(2)
        #expect(!budget.withdraw(for: origin, at: clock.now))
        call.cancel()
        _ = await call.value
        await client.shutdown()
    }

    @Test(
        "A hedge that is granted too late to be sent returns its budget",
        arguments: [true, false])
    func lateGrant(byTask: Bool) async throws {
        // The call ends between the grant and the send.
        final class Ending: RequestLogger {
            let client = ClientBox()
            let byTask: Bool
            init(byTask: Bool) { self.byTask = byTask }
            func log(_ event: CallEvent) {
                guard case .note = event.kind else { return }
                if byTask {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                } else {
                    client.client?.cancelAll()
                }
            }
        }
        let ending = Ending(byTask: byTask)
        let budget = RetryBudget(ratio: 1, window: .seconds(10), floorPerSecond: 0)
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(60)) }
        let client = Client(
            transport, clock: clock, [ending, .hedge(after: .seconds(1), budget: budget)])
        ending.client.client = client
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.sentCount == 1)
        #expect(budget.withdraw(for: origin, at: clock.now))
        ending.client.client = nil
    }

    @Test("A spent budget is asked once per call, however small the delay")
    func spentBudget() async throws {
        final class Notes: RequestLogger {
            let count = Mutex(0)
            func log(_ event: CallEvent) {
                if case .note = event.kind { count.withLock { $0 += 1 } }
            }
        }
        let notes = Notes()
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0)
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(60)) }
        let client = Client(
            transport, clock: clock, [notes, .hedge(after: .seconds(1), budget: budget)])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        try await until("a note") { notes.count.withLock { $0 } > 0 }
        clock.advance(by: .seconds(59))
        _ = try await call.value
        #expect(notes.count.withLock { $0 } == 1)
        #expect(transport.sentCount == 1)
    }

    @Test("The delay follows measured durations, once there are enough")
    func percentile() async throws {
        let (client, transport) = client(
            Hedge(after: .percentile(0.9, atLeast: .milliseconds(10)), budget: nil),
            [.ok().delayed(by: .milliseconds(100))])
        for _ in 0..<20 {
            let call = Task { try await client.get(anywhere).response() }
            try await clock.waitForTimers(1)
            clock.advance(by: .milliseconds(100))
            _ = try await call.value
        }
        #expect(transport.sentCount == 20, "too few were measured to hedge")
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(2)
        #expect(clock.timerCount == 2)
        clock.advance(by: .milliseconds(100))
        _ = try await call.value
        #expect(transport.sentCount == 21, "the bucket's upper edge is above what they took")
    }
}
