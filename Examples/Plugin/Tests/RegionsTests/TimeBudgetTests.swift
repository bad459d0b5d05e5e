// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeRegions
import TurnpikeTesting

/// Compares this deadline with Turnpike's own.
@Suite("A time budget")
struct TimeBudgetTests {
    private let clock = ManualClock()

    private struct Ending: Hashable {
        let outcome: String
        let elapsed: Duration
        let sends: Int
        // How long a part of the call continued after its caller had the outcome.
        let rest: Duration
    }

    @Test("Whatever the server does, a call ends as under a deadline, and when it would")
    func sameAsDeadline() async throws {
        var endings: [String: Int] = [:]
        for seed in UInt64(0)..<100 {
            var dice = SeededGenerator(seed: seed)
            let limit = Duration.milliseconds(Int.random(in: 1...12_000, using: &dice))
            let own = try await ending(under: Deadline(limit), seed: seed)
            let other = try await ending(under: TimeBudget(limit), seed: seed)
            #expect(own == other, "seed \(seed)")
            #expect(other.elapsed <= limit && other.rest == .zero, "seed \(seed)")
            endings[other.outcome, default: 0] += 1
        }
        #expect(endings["a value", default: 0] > 0)
        #expect(endings["deadlineExceeded", default: 0] > 0)
    }

    private func ending(under gate: any Gate, seed: UInt64) async throws -> Ending {
        try await Simulation(seed: seed).run { simulation in
            let dice = Mutex(SeededGenerator(seed: ~seed))
            let transport = MockTransport { _ in dice.withLock { Self.answer(&$0) } }
            let client = Client(
                transport: transport,
                stack: Stack([gate, Retry(attempts: 4), AttemptTimeout(.seconds(3))]),
                timeSource: simulation.clock, randomSource: simulation.random)
            var outcome = "a value"
            do {
                _ = try await client.get("http://a.example/").data()
            } catch {
                outcome = (error as? ClientError)?.code.rawValue ?? "\(error)"
            }
            let elapsed = simulation.elapsed
            await client.shutdown(grace: .seconds(100))
            return Ending(
                outcome: outcome, elapsed: elapsed, sends: transport.sentCount,
                rest: simulation.elapsed - elapsed)
        }
    }

    private static func answer(_ dice: inout SeededGenerator) -> MockResponse {
        let chunks = Array(repeating: Data("x".utf8), count: Int.random(in: 0...9, using: &dice))
        let answer: MockResponse =
            switch Int.random(in: 0..<6, using: &dice) {
            case 0: .connectionLost
            case 1: .status(503)
            case 2: .status(200, headers: [:], body: Data("x".utf8))
            default:
                .stream(chunks, every: .milliseconds(Int.random(in: 0...900, using: &dice)))
            }
        return answer.delayed(by: .milliseconds(Int.random(in: 0...4000, using: &dice)))
    }

    @Test("A gate inside that ignores its cancellation holds no caller up, and sends nothing later")
    func deafGate() async throws {
        let began = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport: transport,
            stack: [
                .budget(.seconds(1)),
                Deaf {
                    began.continuation.yield()
                    await Task { for await _ in release.stream {} }.value
                },
            ], timeSource: clock)
        let call = Task { try await client.get("http://a.example/").response() }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("budget of 1.0 seconds") == true)
        release.continuation.finish()
        await client.shutdown()
        #expect(transport.sentCount == 0)
        #expect(clock.timerCount == 0)
    }

    private struct Deaf: Interceptor {
        let wait: @Sendable () async -> Void

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            await wait()
            return try await next(request)
        }
    }

    @Test("The limit of a call goes before the gate's, and that of a stream ends with the head")
    func ownLimits() async throws {
        let slow = Client(
            transport: MockTransport { _ in .ok().delayed(by: .seconds(60)) },
            stack: [.budget(.seconds(10))], timeSource: clock)
        let call = Task {
            try await slow.get("http://a.example/").deadline(.seconds(3)).response()
        }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        let endless = Client(
            transport: MockTransport { _ in .stream([Data("x".utf8)], every: .seconds(60)) },
            stack: [.budget(.seconds(10))], timeSource: clock)
        let body = try await endless.get("http://a.example/").streaming().response().body
        let content = Task { try await body.collect(upTo: 10) }
        // One wait is for the chunk, and one for the end.
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(60))
            clock.advance(by: .seconds(60))
        }
        #expect(try await content.value == Data("x".utf8))
    }

    @Test("A request that works only once is not ended by it")
    func oneTime() async throws {
        let client = Client(
            transport: MockTransport { _ in .ok() }, stack: [.budget(.zero)], timeSource: clock)
        var call = client.get("http://a.example/")
        call.request.options.isOneTime = true
        #expect(try await call.response().status == 200)
    }
}
