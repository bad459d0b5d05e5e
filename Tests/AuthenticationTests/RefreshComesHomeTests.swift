// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("A refresh that was sent is never lost")
struct RefreshComesHomeTests {
    private let clock = ManualClock()
    private let server = RotatingTokenServer(answeringAfter: .seconds(40))
    private let endpoint = "http://a.example/token"

    private func tokens(
        _ onRefresh: (@Sendable (BearerToken) -> Void)? = nil
    ) throws -> BearerTokens {
        let endpoint = TokenEndpoint(endpoint)
        return BearerTokens(
            BearerToken("a0", refreshToken: "r0"), provider: RefreshTokenGrant(endpoint),
            onRefresh: onRefresh)
    }

    /// A call that waits for a refresh, whose request the server has.
    private func waiting(_ client: Client) async throws -> RunningCall<String> {
        let call = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(40))
        // That of the call's own wait.
        try await clock.waitForTimer(in: .seconds(30))
        return call
    }

    @Test("cancelAll ends the calls; the new token is kept, reported and used later")
    func cancelAll() async throws {
        let saved = Mutex<[String?]>([])
        let tokens = try tokens { token in saved.withLock { $0.append(token.refreshToken) } }
        let client = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let call = try await waiting(client)
        client.cancelAll()
        await #expect(throws: CancellationError.self) { try await call.value }
        clock.advance(by: .seconds(40))
        try await until("a saved token") { saved.withLock { !$0.isEmpty } }
        #expect(saved.withLock { $0 } == ["r1"])
        #expect(tokens.current?.value == "a1")
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(server.forms.count == 1)
        // The token is in force shortly before the timer of its refresh is gone.
        try await until("all timers to go") { clock.timerCount == 0 }
    }

    @Test("Calls of other clients continue to wait for the same refresh")
    func sharedTokens() async throws {
        let tokens = try tokens()
        let first = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let second = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let early = try await waiting(first)
        clock.advance(by: .seconds(15))
        let late = second.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(30))
        first.cancelAll()
        await #expect(throws: CancellationError.self) { try await early.value }
        clock.advance(by: .seconds(25))
        #expect(try await late.value == "in")
        #expect(server.forms.count == 1)
    }

    @Test("A call waits no longer than the time limit; a later response still counts")
    func timeLimit() async throws {
        let client = Client(server.transport(), clock: clock, [.bearer(try tokens())])
        let call = try await waiting(client)
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .auth)
        let second = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(30))
        clock.advance(by: .seconds(10))
        #expect(try await second.value == "in")
        #expect(server.forms.count == 1, "a spent token is not sent again")
        // The token is in force shortly before the timer of its refresh is gone.
        try await until("all timers to go") { clock.timerCount == 0 }
    }

    @Test("Time limits inside the gate do not end the refresh")
    func innerLimits() async throws {
        let stack: Stack = [
            .bearer(try tokens()), .deadline(.seconds(10)), .attemptTimeout(.seconds(5)),
            .idleTimeout(.seconds(5)),
        ]
        let client = Client(server.transport(), clock: clock, stack)
        let call = try await waiting(client)
        clock.advance(by: .seconds(29))
        #expect(server.forms.count == 1)
        let late = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(30))
        clock.advance(by: .seconds(11))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .auth)
        #expect(try await late.value == "in")
        #expect(server.forms.count == 1)
    }

    @Test("Time limits and cancelAll of the endpoint's own client do not end it either")
    func ownClient() async throws {
        let authorization = Client(
            server.transport(), clock: clock,
            [.deadline(.seconds(10)), .idempotencyKey(), .retry(), .attemptTimeout(.seconds(5))])
        let endpoint = TokenEndpoint(endpoint, client: authorization)
        let tokens = BearerTokens(
            BearerToken("a0", refreshToken: "r0"), provider: RefreshTokenGrant(endpoint))
        let client = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let call = try await waiting(client)
        authorization.cancelAll()
        clock.advance(by: .seconds(29))
        call.cancel()
        clock.advance(by: .seconds(11))
        try await until("the token a1") { tokens.current?.value == "a1" }
        #expect(server.forms.count == 1)
    }

    @Test("A refresh that may have spent the token is not sent again")
    func noSecondSend() async throws {
        let transport = MockTransport { request in
            request.method == .post ? .connectionLost : .status(401)
        }
        let retry = Retry(backoff: Backoff(base: .zero, throttledBase: .zero))
        let client = Client(
            transport, clock: clock, [.bearer(try tokens()), .idempotencyKey(), retry])
        #expect(await code(of: client.get(anywhere)) == .auth)
        #expect(transport.sent(.post, "/token").count == 1)
    }

    @Test(
        "A shutdown waits for the refresh as long as a call would, and no longer",
        arguments: [20, 40])
    func shutdown(seconds: Int) async throws {
        let delay = Duration.seconds(seconds)
        let server = RotatingTokenServer(answeringAfter: delay)
        let tokens = try tokens()
        let client = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let call = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: delay)
        try await clock.waitForTimer(in: .seconds(30))
        let end = Task { await client.shutdown() }
        await #expect(throws: CancellationError.self) { try await call.value }
        // Beside those of the server and of the refresh: a second for the cancelled call, unless it
        // has ended by then, and 30 for the refresh.
        try await clock.waitForTimers(3)
        clock.advance(by: .seconds(1))
        try await clock.waitForTimers(3)
        clock.advance(by: .seconds(20))
        if seconds > 30 { clock.advance(by: .seconds(10)) }
        await end.value
        #expect(tokens.current?.value == (seconds < 30 ? "a1" : "a0"))
    }

    @Test("A refresh without a response is abandoned at last, and another one begins")
    func neverAnswered() async throws {
        let transport = MockTransport { request in
            request.method == .post
                ? .ok(json: ["access_token": "a1"]).delayed(by: .seconds(1000)) : .status(401)
        }
        let client = Client(transport, clock: clock, [.bearer(try tokens())])
        for round in 1...2 {
            let call = client.get(anywhere).start(Text())
            try await clock.waitForTimer(in: .seconds(1000))
            try await clock.waitForTimer(in: .seconds(30))
            for _ in 0..<4 { clock.advance(by: .seconds(30)) }
            await expectError(.auth) { try await call.value }
            try await until("all timers to go") { clock.timerCount == 0 }
            #expect(transport.sent(.post, "/token").count == round)
        }
    }

    @Test("If no refresh token is spent, the next call may refresh again before a late response")
    func repeatable() async throws {
        let count = Countdown(1)
        let transport = MockTransport { request in
            if request.method == .post {
                return count.takeOne()
                    ? .ok(json: ["access_token": "a1"]).delayed(by: .seconds(40))
                    : .ok(json: ["access_token": "a2"])
            }
            return request.headers[.authorization] == "Bearer a2" ? .ok(text: "in") : .status(401)
        }
        let url = try #require(URL(string: endpoint))
        let tokens = BearerTokens(
            provider: ClientCredentialsGrant(
                TokenEndpoint(Target(url), clientID: "c", clientSecret: "s")))
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        let call = try await waiting(client)
        clock.advance(by: .seconds(30))
        #expect(await code(of: client.get(anywhere)) == nil)
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .auth)
        clock.advance(by: .seconds(10))
        #expect(tokens.current?.value == "a2", "the newer token stays")
    }

    @Test(
        "A call that waits for a refresh continues with the token of the one that replaced it",
        arguments: [true, false])
    func superseded(fails: Bool) async throws {
        let count = Countdown(1)
        // The answer comes before that of the other refresh, or stays away.
        let delay: Duration = fails ? .seconds(31) : .seconds(40)
        let transport = MockTransport { request in
            if request.method == .post {
                let first: MockResponse = fails ? .status(400) : .ok(json: ["access_token": "a1"])
                return count.takeOne()
                    ? first.delayed(by: delay)
                    : .ok(json: ["access_token": "a2"]).delayed(by: .seconds(3))
            }
            return request.headers[.authorization] == "Bearer a2" ? .ok(text: "in") : .status(401)
        }
        let url = try #require(URL(string: endpoint))
        let tokens = BearerTokens(
            BearerToken("a0"),
            provider: ClientCredentialsGrant(
                TokenEndpoint(Target(url), clientID: "c", clientSecret: "s")))
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        let first = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: delay)
        try await clock.waitForTimer(in: .seconds(30))
        clock.advance(by: .seconds(29))
        let second = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(30))
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: ClientError.self) { try await first.value }
        #expect(error?.code == .auth)
        let third = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(3))
        try await clock.waitForTimer(in: .seconds(30))
        // The first one ends here, if it fails.
        if fails { clock.advance(by: .seconds(1)) }
        clock.advance(by: .seconds(fails ? 2 : 3))
        #expect(try await third.value == "in")
        #expect(try await second.value == "in")
        #expect(tokens.current?.value == "a2")
    }

    @Test("A token that was set explicitly is not overwritten by a late refresh")
    func replaced() async throws {
        let tokens = try tokens()
        let client = Client(server.transport(), clock: clock, [.bearer(tokens)])
        let call = try await waiting(client)
        client.cancelAll()
        await #expect(throws: CancellationError.self) { try await call.value }
        tokens.replace(with: BearerToken("signed-in"))
        clock.advance(by: .seconds(40))
        try await until("all timers to go") { clock.timerCount == 0 }
        #expect(tokens.current?.value == "signed-in")
    }
}

@Suite("Refreshes that rotate, concurrency")
struct RotatingTokenConcurrencyTests {
    @Test(
        "500 calls that are cancelled in the middle of a refresh lose no token",
        arguments: 0..<15)
    func storm(round: Int) async throws {
        let clock = ManualClock()
        let server = RotatingTokenServer(answeringAfter: .seconds(1))
        let url = try #require(URL(string: "http://a.example/token"))
        let tokens = BearerTokens(
            BearerToken("a0", refreshToken: "r0"),
            provider: RefreshTokenGrant(TokenEndpoint(Target(url))))
        let client = Client(
            server.transport(), clock: clock, [.deadline(), .bearer(tokens), .attemptTimeout()])
        let calls = (0..<500).map { _ in client.get(anywhere).start(Text()) }
        try await clock.waitForTimer(in: .seconds(1))
        // At another moment in each round: some are signed, some wait, some have not begun.
        for _ in 0..<(round * 20) { await Task.yield() }
        client.cancelAll()
        var ends = (answered: 0, cancelled: 0)
        for (index, call) in calls.enumerated() {
            if index == 250 { clock.advance(by: .seconds(1)) }
            do {
                #expect(try await call.value == "in")
                ends.answered += 1
            } catch {
                ends.cancelled += 1
            }
        }
        #expect(ends.answered + ends.cancelled == 500)
        try await until("the token a1") { tokens.current?.value == "a1" }
        for _ in 0..<3 {
            #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        }
        #expect(server.forms.count == 1)
        #expect(!server.isSignedOut)
        try await until("all timers to go") { clock.timerCount == 0 }
    }
}
