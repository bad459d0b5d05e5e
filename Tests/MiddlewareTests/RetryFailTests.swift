// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A retrier that ends the call (`RetryDecision.fail`), whatever stands around it.
@Suite("A retrier that ends the call")
struct RetryFailTests {
    private struct Enough: Error, Equatable {}

    /// Ends the call on each outcome that is no success.
    private struct Ending: RequestRetrier {
        var error: any Error = Enough()

        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            if outcome.error == nil, outcome.status?.isSuccessful == true { return .stop }
            return .fail(error)
        }
    }

    private struct NoTokens: BearerTokenProvider {
        func token(
            replacing old: BearerToken?, by exchange: TokenExchange
        ) async throws -> BearerToken {
            Issue.record("a token was asked for")
            return BearerToken("new")
        }
    }

    /// Tries everything again.
    private struct Stubborn: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            outcome.attempts < 4 ? .retry(after: .zero) : .stop
        }
    }

    private let clock = ManualClock()
    private let now = Backoff(base: .zero)

    /// Sends a GET through gates around one that ends the call, and tells what came of it.
    private func sending(
        _ outer: [any Gate], _ ending: Ending = Ending(), inner: [any Gate] = [],
        answers: MockResponse...
    ) async -> (sends: Int, error: (any Error)?) {
        let transport = MockTransport([MockStub(answers) { _ in true }])
        let client = Client(transport, clock: clock, Stack(outer + [ending] + inner))
        do {
            _ = try await client.get(anywhere).serialize(with: Text())
            return (transport.sentCount, nil)
        } catch {
            return (transport.sentCount, error)
        }
    }

    @Test("No outer retry tries again, however many there are")
    func nested() async {
        for outer: [any Gate] in [
            [.retry(backoff: now)], [Stubborn()], [.retry(backoff: now), Stubborn()],
            [Stubborn(), .validate(), .redirect(), .retry(backoff: now), .limits()],
        ] {
            for answer: MockResponse in [.status(503), .connectionLost, .status(404)] {
                let (sends, error) = await sending(outer, answers: answer)
                #expect(sends == 1)
                #expect(error is Enough)
            }
        }
        // It is the last word of the call, and not of its first attempt.
        let (sends, error) = await sending(
            [Stubborn()], inner: [Stubborn()], answers: .status(503))
        #expect(sends == 4 && error is Enough)
    }

    @Test("A redirect or challenge in its error is not followed")
    func refusedResponses() async {
        let there: HTTPHeaders = ["Location": "http://a.example/y"]
        let moved = ResponseHead(status: 302, headers: there, url: URL(filePath: "/"))
        let redirected = await sending(
            [.redirect()], Ending(error: ClientError(.validation, "no", response: moved)),
            answers: .status(302, headers: there), .ok())
        #expect(redirected.sends == 1)
        #expect((redirected.error as? ClientError)?.code == .validation)

        let challenge: HTTPHeaders = ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\""]
        let head = ResponseHead(
            status: 401, headers: challenge, url: URL(string: "http://a.example/x")!)
        let ending = Ending(error: ClientError(.validation, "no", response: head))
        let tokens = BearerTokens(BearerToken("old"), provider: NoTokens())
        for gate: any Gate in [
            .digest(user: "u", password: "p", origins: ["http://a.example"]),
            .bearer(tokens, origins: ["http://a.example"]),
        ] {
            let refused = await sending(
                [gate], ending, answers: .status(401, headers: challenge), .ok())
            #expect(refused.sends == 1)
            #expect((refused.error as? ClientError)?.code == .validation)
        }
    }

    @Test("A hedge under way is cancelled with the call, and no other one is sent")
    func hedges() async throws {
        let count = Mutex(0)
        // The first is late, the second fails: without the last word the first would win.
        let transport = MockTransport { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .ok().delayed(by: .seconds(60)) : .status(503)
        }
        let client = Client(
            transport, clock: clock,
            [.retry(backoff: now), .hedge(after: .seconds(1), attempts: 4), Ending()])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimer(in: .seconds(1))
        try await clock.waitForTimer(in: .seconds(60))
        clock.advance(by: .seconds(1))
        await #expect(throws: Enough.self) { try await call.value }
        #expect(transport.sentCount == 2)
        clock.advance(by: .seconds(600))
        #expect(transport.sentCount == 2 && clock.timerCount == 0)
    }

    @Test("A bad response that waits for a better one does not replace the error")
    func heldAnswer() async throws {
        struct EndsErrors: RequestRetrier {
            func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
                outcome.error == nil ? .stop : .fail(Enough())
            }
        }
        let count = Mutex(0)
        let transport = MockTransport { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst
                ? .status(503).delayed(by: .seconds(2)) : .connectionLost.delayed(by: .seconds(4))
        }
        let error = try await Simulation(seed: 1).run { simulation in
            let client = Client(
                transport, clock: simulation.clock,
                [.hedge(after: .seconds(1), attempts: 2), EndsErrors()])
            return await #expect(throws: Enough.self) { try await client.get(anywhere).response() }
        }
        #expect(error == Enough() && transport.sentCount == 2)
    }

    @Test("Calls that share the exchange end with it")
    func coalesced() async throws {
        let transport = MockTransport { _ in .status(503).delayed(by: .seconds(1)) }
        let coalesce = Coalesce()
        let client = Client(transport, clock: clock, [Stubborn(), coalesce, Ending()])
        let calls = (0..<3).map { _ in Task { try await client.get(anywhere).response() } }
        try await clock.waitForTimers(1)
        try await until("3 waiting callers") { coalesce.waiting >= 3 }
        clock.advance(by: .seconds(1))
        for call in calls { await #expect(throws: Enough.self) { try await call.value } }
        #expect(transport.sentCount == 1)
    }

    @Test("A fallback may respond in its place")
    func fallback() async throws {
        let transport = MockTransport { _ in .status(503) }
        let own = Around { request, _, next in
            do { return try await next(request) } catch is Enough {
                return Response(to: request, status: 500)
            }
        }
        let client = Client(transport, clock: clock, [.retry(backoff: now), own, Ending()])
        #expect(try await client.get(anywhere).response().status == 500)
        #expect(transport.sentCount == 1)
    }

    @Test("Another call of the same client is not ended")
    func otherCalls() async throws {
        let transport = MockTransport([.any(.status(503), .status(503), .ok())])
        let client = Client(transport, clock: clock, [.retry(backoff: now), Ending()])
        await #expect(throws: Enough.self) { try await client.get(anywhere).response() }
        await #expect(throws: Enough.self) { try await client.get(anywhere).response() }
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("The cause is kept: an error as underlying, a response as response")
    func cause() async throws {
        let ending = Ending(error: ClientError(.auth, "log in again"))
        let broken = await sending([], ending, answers: .connectionLost)
        let error = try #require(broken.error as? ClientError)
        #expect(error.code == .auth && error.message == "log in again")
        #expect((error.underlying as? ClientError)?.code == .connection)
        #expect(error.transfer != nil && error.request?.method == .get && error.attempts == 1)

        let refused = await sending([], ending, answers: .status(403, headers: ["X-Why": "x"]))
        let second = try #require(refused.error as? ClientError)
        #expect(second.response?.headers["X-Why"] == "x" && second.underlying == nil)

        // What the retrier says of it counts.
        let own = ResponseHead(status: 418, url: URL(filePath: "/"))
        let given = Ending(error: ClientError(.auth, "x", underlying: Enough(), response: own))
        let third = await sending([], given, answers: .connectionLost)
        let kept = try #require(third.error as? ClientError)
        #expect(kept.underlying is Enough && kept.response?.status == 418)

        // An error is not its own cause.
        struct Same: RequestRetrier {
            func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
                .fail(outcome.error ?? Enough())
            }
        }
        let client = Client(
            MockTransport { _ in .connectionLost }, clock: clock, [Stubborn(), Same()])
        let same = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(same?.underlying == nil)
    }
}
