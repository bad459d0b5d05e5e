// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Keeps what the record of the call says.
private struct Recount: Interceptor {
    let sends = Ref(0)

    final class Ref: Sendable {
        private let state: Mutex<Int>
        init(_ value: Int) { state = Mutex(value) }
        var value: Int {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        defer { sends.value = context.sendCount }
        return try await next(request)
    }
}

/// One call over a transport whose kept-alive connections end.
private struct Loss: Sendable {
    let number: UInt64
    let attempts: Int?
    let policy: RetryPolicy
    let permits: Int?
    let hasOwnRetrier: Bool
    let request: Request

    /// A retrier that looks at statuses alone.
    struct OnStatus: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            outcome.status == 503 && outcome.attempts < 3 ? .retry(after: .zero) : .stop
        }
    }

    init(_ number: UInt64) {
        var dice = Dice(seed: Law.seed(number))
        self.number = number
        attempts = dice.chance(0.6) ? dice.roll(1...6) : nil
        policy = dice.chance(0.2) ? .never : .standard
        permits = dice.chance(0.5) ? dice.roll(1...5) : nil
        hasOwnRetrier = dice.chance(0.2)
        let methods: [HTTPMethod] = [.get, .put, .delete, .post]
        var options = RequestOptions()
        if dice.chance(0.2) { options.isRetryable = dice.chance(0.5) }
        request = Request(dice.one(of: methods), anywhere, options: options)
    }

    var stack: [any Gate] {
        var gates: [any Gate] = []
        if let attempts { gates.append(Retry(attempts: attempts, policy: policy, budget: nil)) }
        if hasOwnRetrier { gates.append(OnStatus()) }
        if let permits {
            let rule = QuotaRule(Double(permits), per: .seconds(86_400), burst: Double(permits))
            gates.append(RateLimit([rule], queue: 0))
        }
        return gates
    }

    /// The most sends, if nothing but connections fails.
    var most: Int {
        if !request.isRepeatable { return 1 }
        let ofGates = attempts.map { policy.codes.isEmpty && $0 > 1 ? 2 : $0 } ?? 2
        return min(ofGates, permits ?? .max)
    }
}

@Suite("Laws of sending again")
struct ResendLawsTests {
    private static let lost = MockResponse.failure(
        ClientError(
            .connection, "a kept-alive connection ends",
            transfer: TransferState(.sending, lostReusedConnection: true)))

    @Test("Where kept-alive connections end, each send is recorded, allowed and within its limits")
    func losses() async throws {
        for number in Law.runs {
            let loss = Loss(number)
            let recount = Recount()
            let (sends, waited) = try await Simulation(seed: Law.seed(number)).run { simulation in
                let clock = simulation.clock
                let transport = WatchedTransport(clock) { _ in Self.lost }
                let client = Client(
                    transport, clock: clock, seed: number, Stack([recount] + loss.stack))
                _ = try? await client.request(loss.request).response()
                let sends = transport.sends
                guard sends.count > 1 else { return (sends.count, Duration.zero) }
                return (sends.count, sends[0].begin.duration(to: sends[1].begin))
            }
            Law.holds(sends == recount.sends.value, number, "the record: \(sends)")
            Law.holds(sends == loss.most, number, "\(sends) sends, of \(loss.most)")
            Law.holds(waited == .zero, number, "that the first repeat does not wait")
        }
    }

    @Test("Among other faults, what is sent is what the record says")
    func faults() async throws {
        for number in Law.runs {
            let loss = Loss(number)
            let recount = Recount()
            let sends = try await Simulation(seed: Law.seed(number)).run { simulation in
                let dice = Mutex(Dice(seed: ~Law.seed(number)))
                let transport = WatchedTransport(simulation.clock) { _ in
                    switch dice.withLock({ $0.roll(0...3) }) {
                    case 0: .status(503)
                    case 1: .ok(text: "x")
                    default: Self.lost
                    }
                }
                let client = Client(
                    transport, clock: simulation.clock, seed: number,
                    Stack([recount] + loss.stack))
                _ = try? await client.request(loss.request).response()
                return transport.sends.count
            }
            Law.holds(sends == recount.sends.value, number, "the record: \(sends)")
            Law.holds(sends <= loss.permits ?? .max, number, "the permits")
            Law.holds(sends <= 12, number, "the send limit")
        }
    }

    @Test("A permit for a send that a limit further in refuses is given back")
    func permits() async throws {
        let day = Duration.seconds(86_400)
        let outer = RateLimit([QuotaRule(2, per: day, burst: 2)], queue: 0)
        let inner = RateLimit([QuotaRule(1, per: day, burst: 1)], queue: 0)
        let clock = ManualClock()
        let transport = MockTransport { $0.url.path() == "/lost" ? Self.lost : .ok() }
        let both = Client(transport, clock: clock, [outer, inner])
        let error = await #expect(throws: ClientError.self) {
            try await both.get("http://a.example/lost").response()
        }
        #expect(error?.attempts == 1)
        let one = Client(transport, clock: clock, [outer])
        #expect(try await one.get("http://a.example/").response().status == 200)
        await expectError(.rateLimited) {
            try await one.get("http://a.example/").response()
        }
    }

    @Test("A retry of a client that another client's retry uses decides of its own sends")
    func innerClient() async throws {
        let transport = MockTransport { _ in Self.lost }
        let inner = Client(
            transport, clock: ManualClock(), [Retry(attempts: 1, policy: .standard, budget: nil)])
        let gate = Around { request, _, _ in try await inner.request(request).response() }
        let outer = Client(
            MockTransport { _ in .ok() }, clock: ManualClock(),
            [Retry(attempts: 1, policy: .standard, budget: nil), gate])
        await expectError(.connection) {
            try await outer.get(anywhere).response()
        }
        #expect(transport.sentCount == 1)
    }

    @Test("A breaker does not count a kept-alive connection that ends")
    func breaker() {
        let request = Request(.get, anywhere)
        let lost = ClientError(
            .connection, "x", transfer: TransferState(.sending, lostReusedConnection: true))
        let other = ClientError(.connection, "x", transfer: TransferState(.sending))
        #expect(
            CircuitVerdict.standard(Outcome(request: request, result: .failure(lost))) == .ignored)
        #expect(
            CircuitVerdict.standard(Outcome(request: request, result: .failure(other))) == .failure)
    }
}
