// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("ConcurrencyLimit")
struct ConcurrencyLimitTests {
    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    private func client(_ limit: ConcurrencyLimit, _ answer: MockResponse = .ok(text: "x"))
        -> Client
    {
        Client(MockTransport { _ in answer }, clock: clock, [limit])
    }

    @Test("A permit is held until the body has ended, or was dropped")
    func held() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1, queue: 0)
        let client = client(limit)
        let first = try await client.get(anywhere).response()
        #expect(await code(of: client.get(anywhere)) == .overloaded)
        _ = try await first.body.collect(upTo: 10)
        #expect(limit.underWay == 0)
        do { _ = try await client.get(anywhere).response() }
        #expect(limit.underWay == 0)
        #expect(await code(of: client.get(anywhere)) == nil)
    }

    @Test("A factor that is not a number lowers the limit to its minimum")
    func notANumber() async throws {
        let limit = ConcurrencyLimit(adaptive: AdaptiveLimit(decrease: .nan))
        let client = client(limit, .status(503))
        for _ in 0..<2 { _ = try await client.get(anywhere).response() }
        #expect(limit.limit(of: origin) == 4)
    }

    @Test("An error returns the permit")
    func failed() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1)
        let client = client(limit, .connectionLost)
        for _ in 0..<3 { #expect(await code(of: client.get(anywhere)) == .connection) }
        #expect(limit.underWay == 0)
    }

    @Test("The queue is first come, first served, and a call that leaves frees its place at once")
    func order() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1, queue: 3)
        let client = client(limit)
        let first = try await client.get(anywhere).response()
        var calls: [Task<Response, any Error>] = []
        for number in 1...3 {
            let call = Task { try await client.get("http://a.example/\(number)").response() }
            calls.append(call)
            try await until("\(number) waiting callers") { limit.waiting >= number }
        }
        #expect(await code(of: client.get(anywhere)) == .overloaded)
        calls[1].cancel()
        await #expect(throws: CancellationError.self) { try await calls[1].value }
        #expect(limit.waiting == 2)
        first.body.cancel()
        let second = try await calls[0].value
        #expect(limit.waiting == 1)
        second.body.cancel()
        try await calls[2].value.body.cancel()
        #expect(limit.underWay == 0)
    }

    @Test("Calls that wait for a busy origin do not delay others, and the total limits all")
    func origins() async throws {
        let limit = ConcurrencyLimit(total: 2, perOrigin: 1, queue: 10)
        let client = client(limit)
        let first = try await client.get(anywhere).response()
        let waiting = Task { try await client.get(anywhere).response() }
        try await until("a waiting caller") { limit.waiting >= 1 }
        let other = try await client.get("http://b.example/").response()
        let third = Task { try await client.get("http://c.example/").response() }
        try await until("2 waiting callers") { limit.waiting >= 2 }
        #expect(limit.underWay == 2)
        other.body.cancel()
        try await third.value.body.cancel()
        #expect(limit.waiting == 1)
        first.body.cancel()
        try await waiting.value.body.cancel()
        #expect(limit.underWay == 0)
    }

    @Test("A call whose deadline passes leaves the queue")
    func deadline() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1, queue: 3)
        let client = client(limit)
        let first = try await client.get(anywhere).response()
        let call = Task { await code(of: client.get(anywhere).deadline(.seconds(1))) }
        try await until("a waiting caller") { limit.waiting >= 1 }
        clock.advance(by: .seconds(1))
        #expect(await call.value == .deadlineExceeded)
        #expect(limit.waiting == 0)
        first.body.cancel()
        #expect(limit.underWay == 0)
    }

    @Test("A refresh that needs the permit of its waiting call ends by its time limit")
    func waitForItself() async throws {
        let limit = ConcurrencyLimit(total: 1, queue: 1)
        let box = ClientBox()
        let provider = CountingProvider { _, _ in
            _ = try await box.client?.get("http://b.example/token").response()
        }
        let tokens = BearerTokens(
            provider: provider, policy: RefreshPolicy(timeLimit: .seconds(30)))
        let client = Client(
            MockTransport { _ in .ok(text: "x") }, clock: clock,
            [limit, .bearer(tokens, origins: ["http://a.example"])])
        box.client = client
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimer(in: .seconds(30))
        try await until("a waiting caller") { limit.waiting == 1 }
        clock.advance(by: .seconds(30))
        #expect(await call.value == .auth)
        try await until("all callers to go") { limit.waiting == 0 && limit.underWay == 0 }
        box.client = nil
    }

    @Test("An adaptive limit falls with overload, at most once in a while, and rises slowly")
    func adaptive() async throws {
        let limit = ConcurrencyLimit(
            perOrigin: 16, adaptive: AdaptiveLimit(min: 2, decrease: 0.5, pause: .seconds(1)))
        let overloaded = client(limit, .status(503))
        #expect(limit.limit(of: origin) == 16)
        for expected in [8, 4, 2, 2] {
            for _ in 0..<3 { _ = try await overloaded.get(anywhere).response() }
            #expect(limit.limit(of: origin) == expected)
            clock.advance(by: .seconds(1))
        }
        let well = client(limit)
        // One call at a time uses half of a limit of two.
        for _ in 0..<2 { _ = try await well.get(anywhere).response() }
        #expect(limit.limit(of: origin) == 2)
        for _ in 0..<10 { _ = try await well.get(anywhere).response() }
        #expect(limit.limit(of: origin) == 3, "one call does not use half of a higher limit")
    }
}
