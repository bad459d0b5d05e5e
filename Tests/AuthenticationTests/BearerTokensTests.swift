// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("BearerTokens")
struct BearerTokensTests {
    private struct Broken: Error {}
    private let clock = ManualClock()

    private func client(
        _ transport: MockTransport, _ provider: CountingProvider, _ first: String? = "t0",
        life: Duration? = nil, policy: RefreshPolicy = .standard
    ) -> Client {
        let expires = life.map { clock.date + $0.inSeconds }
        let tokens = BearerTokens(
            first.map { BearerToken($0, expires: expires) }, provider: provider, policy: policy)
        return Client(transport, clock: clock, [.bearer(tokens)])
    }

    @Test("Six parallel refusals cost one refresh, and all six are sent again")
    func parallel() async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, _ in try await transport.waitForSends(6) }
        let client = client(transport, provider)
        let calls = (0..<6).map { _ in client.get(anywhere).start(Text()) }
        for call in calls { #expect(try await call.value == "in") }
        #expect(provider.count == 1)
        #expect(transport.sentCount == 12)
    }

    @Test("An expired token is replaced before anything is sent, once for two calls")
    func ended() async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, exchange in
            try await exchange.context.sleep(for: .seconds(1))
        }
        let client = client(transport, provider, life: .seconds(10))
        clock.advance(by: .seconds(10))
        let calls = (0..<2).map { _ in client.get(anywhere).start(Text()) }
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        for call in calls { #expect(try await call.value == "in") }
        #expect(provider.count == 1)
        #expect(transport.authorizations == ["Bearer t1", "Bearer t1"])
    }

    @Test("A token near its expiry is replaced while calls continue with it")
    func leeway() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider(life: .seconds(100)) { number, exchange in
            if number == 1 { try await exchange.context.sleep(for: .seconds(1)) }
        }
        let client = client(transport, provider, life: .seconds(60))
        clock.advance(by: .seconds(29))
        _ = try await client.get(anywhere).response()
        #expect(provider.count == 0)
        clock.advance(by: .seconds(1))
        _ = try await client.get(anywhere).response()
        _ = try await client.get(anywhere).response()
        try await clock.waitForTimer(in: .seconds(1))
        #expect(provider.count == 1, "the first of the two began it, the second did not")
        clock.advance(by: .seconds(1))
        while transport.authorizations.last != "Bearer t1" {
            _ = try await client.get(anywhere).response()
            // Such a call never suspends, and the pool may have one thread alone.
            await Task.yield()
        }
        #expect(provider.count == 1)
    }

    @Test("An early renewal that fails affects no call, and is not repeated before the expiry")
    func failedRenewal() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider { number, _ in if number == 1 { throw Broken() } }
        let client = client(transport, provider, life: .seconds(20))
        _ = try await client.get(anywhere).response()
        try await until("a refresh without timers") { provider.count == 1 && clock.timerCount == 0 }
        _ = try await client.get(anywhere).response()
        #expect(provider.count == 1)
        clock.advance(by: .seconds(20))
        _ = try await client.get(anywhere).response()
        #expect(transport.authorizations == ["Bearer t0", "Bearer t0", "Bearer t2"])
    }

    @Test("A short-lived token is not renewed before half of its lifetime")
    func shortLife() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider(life: .seconds(10))
        let client = client(transport, provider, nil)
        _ = try await client.get(anywhere).response()
        clock.advance(by: .seconds(4))
        _ = try await client.get(anywhere).response()
        #expect(provider.count == 1)
        clock.advance(by: .seconds(1))
        _ = try await client.get(anywhere).response()
        try await until("a second refresh") { provider.count == 2 }
    }

    @Test("A late 401 for an old token only signs again with the new one")
    func late() async throws {
        let transport = MockTransport { request in
            let isValid = request.headers[.authorization] == "Bearer t1"
            let answer: MockResponse = isValid ? .ok(text: "in") : .status(401)
            return request.url.path() == "/slow" && !isValid
                ? answer.delayed(by: .seconds(1)) : answer
        }
        let provider = CountingProvider()
        let client = client(transport, provider)
        let slow = client.get("http://a.example/slow").start(Text())
        try await clock.waitForTimer(in: .seconds(1))
        _ = try await client.get(anywhere).response()
        clock.advance(by: .seconds(1))
        #expect(try await slow.value == "in")
        #expect(provider.count == 1)
        #expect(
            transport.authorizations
                == ["Bearer t0", "Bearer t0", "Bearer t1", "Bearer t1"])
    }

    @Test("A failure reaches all who wait, with its cause and the refused response")
    func failure() async throws {
        let transport = guarded { $0 == "t2" }
        let provider = CountingProvider { number, _ in
            try await transport.waitForSends(5)
            if number == 1 { throw Broken() }
        }
        let client = client(transport, provider)
        let calls = (0..<5).map { _ in client.get(anywhere).start(Text()) }
        for call in calls {
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .auth)
            #expect(error?.underlying is Broken)
            #expect(error?.response?.status == 401)
        }
        #expect(provider.count == 1)
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(provider.count == 2, "the next call may try again")
    }

    @Test("A 401 for a request that was under way when the refresh failed shares that failure")
    func lateFailure() async throws {
        let transport = MockTransport { request in
            let isSlow = request.url.path() == "/slow"
            return .status(401).delayed(by: isSlow ? .seconds(1) : .zero)
        }
        let provider = CountingProvider { _, _ in throw Broken() }
        let client = client(transport, provider)
        let slow = client.get("http://a.example/slow").start(Text())
        try await clock.waitForTimer(in: .seconds(1))
        #expect(await code(of: client.get(anywhere)) == .auth)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: ClientError.self) { try await slow.value }
        #expect(error?.code == .auth)
        #expect(provider.count == 1)
    }

    @Test("A call that is cancelled leaves the refresh to the others", arguments: [0, 1])
    func cancel(leaver: Int) async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, exchange in
            try await transport.waitForSends(3)
            try await exchange.context.sleep(for: .seconds(1))
        }
        let client = client(transport, provider)
        let first = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await until("a refresh") { provider.count == 1 }
        let others = (0..<2).map { _ in
            Task { try await client.get(anywhere).serialize(with: Text()) }
        }
        try await clock.waitForTimer(in: .seconds(1))
        let tasks = [first] + others
        tasks[leaver].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[leaver].value }
        clock.advance(by: .seconds(1))
        for (number, task) in tasks.enumerated() where number != leaver {
            #expect(try await task.value == "in")
        }
        #expect(provider.count == 1)
    }

    @Test("A deadline ends the wait of its call alone")
    func deadline() async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, exchange in
            try await exchange.context.sleep(for: .seconds(10))
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, clock: clock, [.deadline(.seconds(5)), .bearer(tokens)])
        let hasty = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(10))
        let patient = client.get(anywhere).deadline(.seconds(60)).start(Text())
        try await transport.waitForSends(2)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: ClientError.self) { try await hasty.value }
        #expect(error?.code == .deadlineExceeded)
        clock.advance(by: .seconds(5))
        #expect(try await patient.value == "in")
        #expect(provider.count == 1)
    }

    @Test(
        "A provider that never answers costs each call its time limit, and is abandoned later",
        arguments: [true, false])
    func timeLimit(spends: Bool) async throws {
        let transport = guarded { $0 == "t2" }
        let provider = CountingProvider(spendsRefreshToken: spends) { number, _ in
            // Deaf to its cancellation.
            if number == 1 { await OneShot<Void>().never() }
        }
        let client = client(transport, provider)
        // Where nothing is spent, the second call asks again at once.
        for _ in 0..<(spends ? 3 : 1) {
            let call = client.get(anywhere).start(Text())
            try await clock.waitForTimer(in: .seconds(30))
            try await until("a refresh") { provider.count == 1 }
            clock.advance(by: .seconds(30))
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .auth)
        }
        if spends { clock.advance(by: .seconds(30)) }
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(provider.count == 2)
        clock.advance(by: .seconds(90))
        // That of the abandoned provider may be removed by another thread.
        try await until("no timer") { clock.timerCount == 0 }
    }

    @Test("At most five refreshes begin within thirty seconds")
    func window() async throws {
        let transport = guarded { _ in false }
        let provider = CountingProvider()
        let client = client(transport, provider)
        for _ in 0..<5 {
            #expect(try await client.get(anywhere).response().status == 401)
            clock.advance(by: .seconds(5))
        }
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .auth)
        #expect(error?.response?.status == 401)
        #expect(error?.retryAfter == .seconds(5))
        #expect(provider.count == 5)
        clock.advance(by: .seconds(5))
        #expect(try await client.get(anywhere).response().status == 401)
        #expect(provider.count == 6)
    }

    @Test("If no refresh is allowed, a refused call fails")
    func noneAllowed() async throws {
        let transport = guarded { _ in false }
        let provider = CountingProvider()
        let client = client(transport, provider, policy: RefreshPolicy(maxRefreshes: 0))
        #expect(await code(of: client.get(anywhere)) == .auth)
        #expect(provider.count == 0)
    }

    @Test("Another token can be set, also while a refresh is under way")
    func replace() async throws {
        let transport = guarded { $0 == "signed-in" }
        let provider = CountingProvider { _, exchange in
            try await exchange.context.sleep(for: .seconds(1))
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        let call = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(1))
        tokens.replace(with: BearerToken("signed-in"))
        #expect(try await call.value == "in")
        try await until("all timers to go") { clock.timerCount == 0 }
        #expect(tokens.current?.value == "signed-in", "what comes of the old refresh is dropped")
    }

    @Test("New tokens are reported before the waiting calls continue")
    func onRefresh() async throws {
        let transport = guarded { $0 == "t1" }
        let saved = Mutex<[String]>([])
        let provider = CountingProvider()
        let tokens = BearerTokens(BearerToken("t0"), provider: provider) { token in
            saved.withLock { $0.append(token.value) }
            #expect(transport.sentCount == 1)
        }
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(saved.withLock { $0 } == ["t1"])
    }
}
