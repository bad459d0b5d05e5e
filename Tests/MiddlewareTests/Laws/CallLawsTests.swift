// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// One call through a stack and a server that chance made.
private struct Run: Sendable {
    let number: UInt64
    let request: Request
    let attempts: Int
    let deadline: Duration
    let attemptTimeout: Duration?
    let hedges: Int
    let retries: Int
    let reading: Int
    let isOneShot: Bool

    init(_ number: UInt64, hedging: Bool) {
        var dice = Dice(seed: Law.seed(number))
        self.number = number
        // With odd nanoseconds, so that no other timer has its duration.
        deadline = .milliseconds(dice.roll(1...20_000)) + .nanoseconds(7)
        attemptTimeout =
            !hedging && dice.chance(0.5)
            ? .milliseconds(dice.roll(1...3000)) + .nanoseconds(3) : nil
        attempts = dice.roll(1...14)
        hedges = hedging ? dice.roll(2...4) : 1
        retries = dice.roll(0...12)
        reading = dice.roll(0...3)
        let method: HTTPMethod =
            hedging ? .get : dice.one(of: [.get, .put, .post, .post, .query] as [HTTPMethod])
        isOneShot = !hedging && dice.chance(0.2)
        var options = RequestOptions()
        if dice.chance(0.2) { options.isRetryable = dice.chance(0.8) }
        let body = isOneShot ? Run.oneShot : dice.chance(0.5) ? RequestBody.empty : .text("content")
        request = Request(method, anywhere, body: body, options: options)
    }

    private static var oneShot: RequestBody {
        .stream {
            AsyncStream<Data> { stream in
                stream.yield(Data("once".utf8))
                stream.finish()
            }
        }
    }

    func stack(_ budget: RetryBudget) -> Stack {
        let jitters: [Backoff.Jitter] = [.full, .decorrelated, .none]
        let backoff = Backoff(
            base: .milliseconds(100), max: .seconds(2), jitter: jitters[Int(number % 3)])
        var gates: [any Gate] = [
            Deadline(deadline), Retry(attempts: attempts, backoff: backoff, budget: budget),
        ]
        if hedges > 1 {
            gates.append(Hedge(after: .milliseconds(400), attempts: hedges, budget: budget))
        }
        if let attemptTimeout { gates.append(AttemptTimeout(attemptTimeout)) }
        return Stack(gates)
    }

    static func answer(_ dice: inout Dice) -> MockResponse {
        let status: HTTPStatus = dice.one(of: [200, 200, 404, 408, 429, 500, 503, 503])
        var headers = HTTPHeaders()
        if dice.chance(0.2) { headers[.retryAfter] = String(dice.roll(0...3)) }
        let chunks = (0..<dice.roll(0...3)).map { _ in Data(repeating: 0x61, count: 10) }
        let answer: MockResponse =
            switch dice.roll(0...9) {
            case 0: .connectionRefused
            case 1: .connectionLost
            case 2...4: .status(status, headers: headers, body: Data("x".utf8))
            case 5: .status(status, headers: headers)
            default:
                .stream(
                    chunks, status: status, headers: headers,
                    every: .milliseconds(dice.roll(0...300)),
                    thenThrow: dice.chance(0.2) ? ClientError(.incomplete, "cut") : nil)
            }
        return dice.chance(0.1)
            ? answer.delayed(by: .seconds(1000))
            : answer.delayed(by: .milliseconds(dice.roll(0...900)))
    }
}

@Suite("Laws of calls")
struct CallLawsTests {
    @Test("A call with retries keeps within its attempts, sends, budget and time")
    func retries() async throws {
        var most = 0
        for number in Law.runs { most = max(most, try await check(Run(number, hedging: false))) }
        #expect(
            most == 12 || Law.runs.count < 10_000, "the runs come to the limits that they are about"
        )
    }

    @Test("A call with retries and hedges keeps within its attempts, sends, budget and time")
    func hedges() async throws {
        var most = 0
        for number in Law.runs { most = max(most, try await check(Run(number, hedging: true))) }
        #expect(
            most == 12 || Law.runs.count < 10_000, "the runs come to the limits that they are about"
        )
    }

    private func check(_ run: Run) async throws -> Int {
        try await Simulation(seed: Law.seed(run.number)).run { simulation in
            let clock = simulation.clock
            let dice = Mutex(Dice(seed: ~Law.seed(run.number)))
            let transport = WatchedTransport(clock) { _ in dice.withLock { Run.answer(&$0) } }
            let budget = RetryBudget(
                ratio: 0, window: .seconds(3600), floorPerSecond: Double(run.retries) / 3600)
            let client = Client(transport, clock: clock, seed: run.number, run.stack(budget))
            await perform(run, client)
            let end = clock.now
            await client.shutdown(grace: .seconds(100))
            Law.holds(clock.now == end, run.number, "that nothing is left open")
            judge(run, transport.sends, end: end)
            return transport.sends.count
        }
    }

    private func perform(_ run: Run, _ client: Client) async {
        do {
            let response = try await client.request(run.request).response()
            switch run.reading {
            case 0: break
            case 1: for try await _ in response.body { break }
            default: _ = try await response.body.collect(upTo: 1000)
            }
        } catch {
            // Any error will do: what counts is what was sent, and when.
        }
    }

    private func judge(_ run: Run, _ sends: [WatchedTransport.Send], end: MonotonicInstant) {
        let number = run.number
        Law.holds(sends.count <= min(12, run.attempts * run.hedges), number, "the send limit")
        Law.holds(sends.count - 1 <= run.retries, number, "the budget")
        Law.holds(
            end <= MonotonicInstant(nanoseconds: 0).advanced(by: run.deadline), number,
            "the deadline")
        Law.holds(
            sends.allSatisfy { $0.head == nil ? $0.bodyEnds == 0 : $0.bodyEnds == 1 }, number,
            "that each body ends once")
        Law.holds(!run.isOneShot || sends.count { wasWritten($0) } <= 1, number, "one send of it")
        for (before, after) in zip(sends, sends.dropFirst()) where run.hedges == 1 {
            guard let ended = before.end else {
                Law.holds(false, number, "that attempts follow each other")
                continue
            }
            Law.holds(ended <= after.begin, number, "that attempts follow each other")
            let seconds = before.head?.headers.first(.retryAfter).flatMap { Int($0) } ?? 0
            Law.holds(
                ended.duration(to: after.begin) >= .seconds(seconds), number, "Retry-After")
            let mayRepeat =
                !wasWritten(before) || before.head?.status == 408
                || (run.request.options[RetryableOption.self] ?? run.request.method.isIdempotent)
            Law.holds(mayRepeat, number, "that only what may be repeated is")
        }
        let isRepeatable =
            run.request.options[RetryableOption.self] ?? run.request.method.isIdempotent
        if !isRepeatable {
            Law.holds(sends.count { $0.head?.status == 408 } <= 2, number, "one repeat after a 408")
        }
        if run.request.options[RetryableOption.self] == false {
            Law.holds(sends.count <= 1, number, "the caller's word")
        }
    }

    private func wasWritten(_ send: WatchedTransport.Send) -> Bool {
        !((send.error as? ClientError)?.transfer?.isUnsent ?? false)
    }
}
