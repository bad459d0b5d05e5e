// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Time limits of one call")
struct LimitsOfOneCallTests {
    private let clock = ManualClock()

    private func client(_ response: MockResponse, _ stack: Stack) -> (Client, MockTransport) {
        let transport = MockTransport { _ in response }
        return (Client(transport, clock: clock, stack), transport)
    }

    private let silent = MockResponse.ok().delayed(by: .seconds(600))

    @Test("The error of a deadline names the request and how far the call had come")
    func place() async throws {
        try await Simulation(seed: 1).run { simulation in
            let chunks = Array(repeating: Data("x".utf8), count: 100)
            let transport = MockTransport { request in
                switch request.url.path() {
                case "/silent": .ok().delayed(by: .seconds(600))
                case "/lost": .failure(ClientError(.connection, "x"))
                default: .stream(chunks, every: .seconds(1))
                }
            }
            let gate = Around { request, context, next in
                if request.url.path() == "/held" { try await context.sleep(for: .seconds(600)) }
                do { return try await next(request) } catch ClientError.Code.connection {
                    try await context.sleep(for: .seconds(600))
                    return try await next(request)
                }
            }
            let client = Client(
                transport, clock: simulation.clock, [.deadline(.seconds(10)), gate])
            for (path, place, attempts) in [
                ("/held", "; nothing was sent yet", 0),
                ("/silent", "; the server had not answered", 1),
                ("/drip", "; the content had not ended", 1), ("/lost", "", 1),
            ] {
                let error = await #expect(throws: ClientError.self) {
                    try await client.post("http://a.example" + path).serialize(with: Text())
                }
                #expect(
                    error?.message
                        == "the call did not finish within its deadline of 10 s" + place)
                #expect(error?.description.contains("[POST http://a.example\(path)]") == true)
                #expect(error?.attempts == attempts)
            }
        }
    }

    @Test(
        "An attempt timeout replaces the one of the stack, shorter or longer", arguments: [2, 60])
    func attempt(seconds: Int) async throws {
        let (client, _) = client(silent, [.attemptTimeout(.seconds(10))])
        let call = Task {
            await code(of: client.get(anywhere).attemptTimeout(.seconds(seconds)))
        }
        try await clock.waitForTimer(in: .seconds(seconds))
        try await clock.waitForTimer(in: .seconds(600))
        #expect(clock.timerCount == 2, "the transport's and one limit")
        clock.advance(by: .seconds(seconds))
        #expect(await call.value == .attemptTimeout)
        #expect(clock.timerCount == 0)
    }

    @Test(
        "Without a gate it stands inside of the retry, even of one for this call",
        arguments: [true, false])
    func inside(isOwn: Bool) async throws {
        let retry = Retry(attempts: 3, backoff: .constant(.seconds(7)))
        let (client, transport) = client(silent, isOwn ? [] : [retry])
        var wished = client.get(anywhere).attemptTimeout(.seconds(5))
        if isOwn { wished = wished.through(retry) }
        let call = Task { [wished] in await code(of: wished) }
        for attempt in 1...3 {
            try await clock.waitForTimer(in: .seconds(5))
            try await clock.waitForTimer(in: .seconds(600))
            #expect(transport.sentCount == attempt)
            clock.advance(by: .seconds(5))
            if attempt == 3 { break }
            try await clock.waitForTimer(in: .seconds(7))
            clock.advance(by: .seconds(7))
        }
        #expect(await call.value == .attemptTimeout)
    }

    /// Sends a request of its own before each call's, as for a token.
    private struct AsksFirst: Interceptor {
        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            let token = try await next(Request(.get, "http://tokens.example/"))
            _ = try await token.body.collect(upTo: 10)
            return try await next(request)
        }
    }

    @Test("What a gate sends for all calls has no limit by one of them")
    func ofOthers() async throws {
        let transport = MockTransport { request in
            request.url.host == "tokens.example" ? .ok(text: "t").delayed(by: .seconds(20)) : .ok()
        }
        let client = Client(transport, clock: clock, [AsksFirst()])
        let call = Task {
            try await client.get(anywhere).attemptTimeout(.seconds(5)).idleTimeout(.zero)
                .response().status
        }
        try await clock.waitForTimer(in: .seconds(20))
        #expect(clock.timerCount == 1)
        clock.advance(by: .seconds(20))
        #expect(try await call.value == 200)
        #expect(transport.sentCount == 2)
    }

    @Test(
        "A limit of zero or less leaves no time, as in the gate",
        arguments: [Duration.zero, .seconds(-5)])
    func noTime(limit: Duration) async throws {
        for isGate in [true, false] {
            let (client, _) = client(silent, isGate ? [.attemptTimeout(limit)] : [])
            let wished =
                isGate ? client.get(anywhere) : client.get(anywhere).attemptTimeout(limit)
            let call = Task { await code(of: wished) }
            try await clock.waitForTimers(2)
            clock.advance(by: .zero)
            #expect(await call.value == .attemptTimeout)
        }
        for isGate in [true, false] {
            let (client, _) = client(
                .stream([Data("x".utf8)], every: .seconds(1)), isGate ? [.idleTimeout(limit)] : [])
            let wished = isGate ? client.get(anywhere) : client.get(anywhere).idleTimeout(limit)
            let call = Task { await code(of: wished) }
            try await clock.waitForTimers(2)
            clock.advance(by: .zero)
            #expect(await call.value == .idleTimeout)
        }
    }

    @Test("A longer limit than a clock can tell is none")
    func endless() async throws {
        let (client, _) = client(.ok(text: "x"), [.attemptTimeout(), .idleTimeout()])
        let call = client.get(anywhere).attemptTimeout(.seconds(Int64.max))
            .idleTimeout(.seconds(Int64.max))
        #expect(await code(of: call) == nil)
    }

    @Test(
        "An idle timeout replaces the one of the stack with its rate, or stands in for it",
        arguments: [true, false])
    func idle(hasGate: Bool) async throws {
        let chunks = [Data("a".utf8), Data("b".utf8)]
        let stack: Stack = [
            .idleTimeout(.seconds(10), minBytesPerSecond: 100, window: .seconds(1))
        ]
        let (client, _) = client(.stream(chunks, every: .seconds(40)), hasGate ? stack : [])
        let whole = Task { await code(of: client.get(anywhere).idleTimeout(.seconds(50))) }
        for _ in 0..<3 {
            try await clock.waitForTimer(in: .seconds(40))
            try await clock.waitForTimer(in: .seconds(50))
            clock.advance(by: .seconds(40))
        }
        #expect(await whole.value == nil)
        let broken = Task { await code(of: client.get(anywhere).idleTimeout(.seconds(3))) }
        try await clock.waitForTimer(in: .seconds(3))
        clock.advance(by: .seconds(3))
        #expect(await broken.value == .idleTimeout)
        let slow = Task {
            await code(
                of: client.get(anywhere).idleTimeout(
                    .seconds(50), minBytesPerSecond: 1, window: .seconds(30)))
        }
        try await clock.waitForTimer(in: .seconds(40))
        clock.advance(by: .seconds(40))
        #expect(await slow.value == .idleTimeout)
    }

    @Test("A stream has the idle limit that its call sets, and no other")
    func streaming() async throws {
        let (client, _) = client(
            .stream([Data("x".utf8)], every: .seconds(60)), [.idleTimeout(.seconds(10))])
        let free = Task { await code(of: client.get(anywhere).streaming()) }
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(60))
            #expect(clock.timerCount == 1)
            clock.advance(by: .seconds(60))
        }
        #expect(await free.value == nil)
        let bound = Task {
            await code(of: client.get(anywhere).streaming().idleTimeout(.seconds(20)))
        }
        try await clock.waitForTimer(in: .seconds(20))
        clock.advance(by: .seconds(20))
        #expect(await bound.value == .idleTimeout)
    }
}
