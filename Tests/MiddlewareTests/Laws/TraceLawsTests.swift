// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// One traced call through a stack and to a server that chance made.
private struct TracedRun: Sendable {
    let number: UInt64
    let hedges: Bool
    let stack: Stack
    let reading: Int

    init(_ number: UInt64, hedging: Bool) {
        var dice = Dice(seed: Law.seed(number))
        self.number = number
        hedges = hedging
        var gates: [any Gate] = []
        func maybe(_ gate: any Gate) { if dice.chance(0.6) { gates.append(gate) } }
        maybe(Deadline(.milliseconds(dice.roll(1...20_000)) + .nanoseconds(7)))
        maybe(Log(to: MemoryLogSink()))
        maybe(Metrics(MetricsStore()))
        maybe(Validate())
        maybe(Redirect())
        maybe(When({ $0.url.path().count % 2 == 0 }, then: [UserAgent("test")]))
        gates.append(
            Retry(
                attempts: dice.roll(1...5),
                backoff: Backoff(base: .milliseconds(100), max: .seconds(2))))
        if hedging {
            gates.append(
                Hedge(after: .milliseconds(dice.roll(50...500)), attempts: dice.roll(2...4)))
        }
        maybe(RateLimit(perSecond: 0.5))
        // A hedge may hold a bad response, and with it a permit, until the other attempt answers.
        maybe(ConcurrencyLimit(total: 4, perOrigin: hedging ? 4 : dice.roll(1...3)))
        maybe(SetHeaders(["X-A": "b"]))
        if !hedging { maybe(AttemptTimeout(.milliseconds(dice.roll(1...3000)) + .nanoseconds(3))) }
        maybe(IdleTimeout(.seconds(2)))
        maybe(Limits())
        stack = Stack(gates)
        reading = dice.roll(0...3)
    }

    static func answer(_ dice: inout Dice) -> MockResponse {
        let status: HTTPStatus = dice.one(of: [200, 200, 302, 307, 404, 429, 503, 503])
        let headers: HTTPHeaders = ["Location": "http://a.example/\(dice.roll(0...1_000))"]
        let chunks = (0..<dice.roll(0...3)).map { _ in Data(repeating: 0x61, count: 10) }
        let answer: MockResponse =
            switch dice.roll(0...9) {
            case 0: .connectionRefused
            case 1: .connectionLost
            case 2...4: .status(status, headers: headers, body: Data("x".utf8))
            default:
                .stream(
                    chunks, status: status, headers: headers,
                    every: .milliseconds(dice.roll(0...300)),
                    thenThrow: dice.chance(0.2) ? ClientError(.incomplete, "cut") : nil)
            }
        return answer.delayed(by: .milliseconds(dice.roll(0...900)))
    }
}

@Suite("Laws of traces")
struct TraceLawsTests {
    @Test("Spans nest, their own times add up to the call, and each attempt and each send is there")
    func sequential() async throws {
        var most = 0
        for number in Law.runs {
            most = max(most, try await check(TracedRun(number, hedging: false)))
        }
        #expect(most > 4, "the runs come to several sends")
    }

    @Test("Spans of parallel attempts nest, and each of them and each send is there")
    func hedges() async throws {
        var most = 0
        for number in Law.runs {
            most = max(most, try await check(TracedRun(number, hedging: true)))
        }
        #expect(most > 4, "the runs come to several sends")
    }

    private func check(_ run: TracedRun) async throws -> Int {
        try await Simulation(seed: Law.seed(run.number)).run { simulation in
            let dice = Mutex(Dice(seed: ~Law.seed(run.number)))
            let transport = WatchedTransport(simulation.clock) { _ in
                dice.withLock { TracedRun.answer(&$0) }
            }
            let client = Client(transport, clock: simulation.clock, seed: run.number, run.stack)
            let call = client.get(anywhere).traced()
            let begin = simulation.clock.now
            await perform(call, run.reading)
            await client.shutdown(grace: .seconds(100))
            guard let trace = call.trace else {
                Law.holds(false, run.number, "that there is a trace")
                return 0
            }
            judge(trace, run)
            judge(trace, transport.sends, since: begin, run)
            return transport.sends.count
        }
    }

    private func perform(_ call: Call, _ reading: Int) async {
        do {
            if reading == 0 { return _ = try await call.serialize(with: Text()) }
            let response = try await call.response()
            if reading == 1 { return }
            _ = try await response.body.collect(upTo: 1000)
        } catch {
            // Any error will do: what counts is the trace.
        }
    }

    private func judge(_ trace: Trace, _ run: TracedRun) {
        let number = run.number
        let spans = trace.spans
        Law.holds(trace.isComplete, number, "that it has ended")
        Law.holds(spans.map(\.id) == Array(spans.indices), number, "the order of numbers")
        Law.holds(spans.map(\.start) == spans.map(\.start).sorted(), number, "the order of time")
        Law.holds(spans[0].kind == .call && spans[0].parent == nil, number, "the root")
        for span in spans {
            guard let duration = span.duration, span.outcome != nil else {
                Law.holds(false, number, "that \(span.name) has ended")
                continue
            }
            guard span.id > 0 else { continue }
            guard let place = span.parent, place < span.id, let outer = spans[place].duration else {
                Law.holds(false, number, "that \(span.name) has a parent")
                continue
            }
            Law.holds(
                duration >= .zero && span.start >= spans[place].start
                    && span.start + duration <= spans[place].start + outer, number,
                "that \(span.name) lies within \(spans[place].name)")
        }
        let own = spans.compactMap { trace.ownTime(of: $0) }
        Law.holds(own.allSatisfy { $0 >= .zero }, number, "that own times are positive")
        let sum = own.reduce(.zero, +)
        let total = spans[0].duration ?? .zero
        Law.holds(run.hedges ? sum >= total : sum == total, number, "the sum of the own times")
    }

    private func judge(
        _ trace: Trace, _ sends: [WatchedTransport.Send], since begin: MonotonicInstant,
        _ run: TracedRun
    ) {
        let exchanges = trace.spans.filter { $0.kind == .exchange }
        // Redirects inside hedges inside retries may go beyond the bounds of a trace.
        if trace.omitted > 0 {
            Law.holds(sends.count > 10, run.number, "that nothing is left out without need")
            return
        }
        Law.holds(
            exchanges.map(\.start).sorted()
                == sends.map { begin.duration(to: $0.begin) }.sorted(), run.number, "each send")
        Law.holds(
            exchanges.compactMap { $0.exchange?.status?.code }.sorted()
                == sends.compactMap { $0.head?.status.code }.sorted(), run.number, "each status")
        let attempts = trace.spans.compactMap { span -> Int? in
            if case .attempt(let number) = span.kind { number } else { nil }
        }
        Law.holds(
            attempts.sorted() == attempts.indices.map { $0 + 1 }, run.number, "each attempt")
    }
}
