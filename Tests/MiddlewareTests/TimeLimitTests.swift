// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Deadline, AttemptTimeout and IdleTimeout")
struct TimeLimitTests {
    private let clock = ManualClock()

    @Test("A deadline ends a transport that does not answer, at its time")
    func hang() async throws {
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.deadline(.seconds(10))])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(10))
        #expect(await call.value == .deadlineExceeded)
        #expect(clock.timerCount == 0)
    }

    @Test("A deadline ends a body that drips")
    func drip() async throws {
        let chunks = Array(repeating: Data("x".utf8), count: 100)
        let client = Client(
            MockTransport { _ in .stream(chunks, every: .seconds(1)) }, clock: clock,
            [.deadline(.seconds(10))])
        let call = Task { await code(of: client.get(anywhere)) }
        for _ in 0..<10 {
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(1))
        }
        #expect(await call.value == .deadlineExceeded)
        #expect(clock.timerCount == 0)
    }

    @Test(
        "A deadline ends a custom gate that sleeps by itself or cannot be cancelled",
        arguments: [true, false])
    func sleepingGate(isCooperative: Bool) async throws {
        let transport = MockTransport { _ in .ok() }
        let began = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)
        let gate = Around { request, _, next in
            began.continuation.yield()
            if isCooperative {
                try await withTaskCancellationHandler {
                    for await _ in release.stream {}
                    try Task.checkCancellation()
                } onCancel: {
                    release.continuation.finish()
                }
            } else {
                // Deaf to cancellation: the caller must not wait for it.
                await Task { for await _ in release.stream {} }.value
            }
            return try await next(request)
        }
        let client = Client(transport, clock: clock, [.deadline(.seconds(1)), gate])
        let call = Task { await code(of: client.get(anywhere)) }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(1))
        #expect(await call.value == .deadlineExceeded)
        release.continuation.finish()
        await client.shutdown()
        #expect(transport.sentCount == 0, "nothing is sent after a deadline")
    }

    @Test(
        "A limit ends gates, policies, responses and bodies that ignore cancellation",
        arguments: Deaf.allCases, [10, 100])
    func notHeard(_ place: Deaf, attemptSeconds: Int) async throws {
        let began = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)
        let wait: @Sendable () async -> Void = {
            began.continuation.yield()
            await Task { for await _ in release.stream {} }.value
        }
        let policy: @Sendable (RedirectProposal) async -> RedirectDecision = { _ in
            await wait()
            return .answer
        }
        let transport =
            place == .answer
            ? MockTransport { _ in
                await wait()
                return .ok()
            } : MockTransport { _ in .status(302, headers: ["Location": "/y"]) }
        let client = Client(
            transport, clock: clock,
            [
                .deadline(.seconds(50)), .retry(attempts: 1),
                .attemptTimeout(.seconds(attemptSeconds)), .validate(status: [200, 302]),
                .redirect(onRedirect: place == .policy ? policy : nil),
                Around { request, _, next in
                    if place == .gate { await wait() }
                    return try await next(request)
                },
            ])
        var request = Request(.post, anywhere)
        if place == .body {
            request.body = .stream {
                AsyncStream<Data> {
                    await wait()
                    return nil
                }
            }
        }
        let call = Task { [request] in await code(of: client.request(request)) }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(min(attemptSeconds, 50)))
        #expect(await call.value == (attemptSeconds == 10 ? .attemptTimeout : .deadlineExceeded))
        release.continuation.finish()
        await client.shutdown()
    }

    enum Deaf: CaseIterable { case gate, policy, answer, body }

    @Test("A limit cancels the task of inner gates, but not of outer ones")
    func taskInside() async throws {
        let inside = OneShot<Bool>()
        let began = AsyncStream.makeStream(of: Void.self)
        let never = AsyncStream.makeStream(of: Void.self)
        let gate = Around { request, _, next in
            began.continuation.yield()
            for await _ in never.stream {}
            inside.settle(.success(Task.isCancelled))
            return try await next(request)
        }
        let client = Client(
            MockTransport { _ in .ok() }, clock: clock, [.deadline(.seconds(1)), gate])
        let call = Task {
            (await code(of: client.get(anywhere)), Task.isCancelled)
        }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(1))
        let (error, isCancelled) = await call.value
        #expect(error == .deadlineExceeded)
        #expect(!isCancelled)
        #expect(try await inside.value {})
        never.continuation.finish()
    }

    @Test("The wait of a reader is limited, unless the body is complete")
    func complete() async throws {
        struct AtOnce: Transport {
            var capabilities: TransportCapabilities { [] }
            func send(_ request: Request, context: Context) async throws -> Response {
                let exchange = Exchange(context: context) { _ in }
                let head = ResponseHead(status: .ok, url: request.url)
                exchange.receive(
                    Exchange.Head(head), with: Data("abc".utf8),
                    isComplete: request.method == .get)
                let response = try await exchange.response()
                response.body.onPull { exchange.finish() }
                return response
            }
            func shutdown() async {}
        }
        for (method, timers) in [(HTTPMethod.get, 0), (.post, 1)] {
            let client = Client(AtOnce(), clock: clock, [.idleTimeout(.seconds(10))])
            let response = try await client.request(method, anywhere).response()
            response.body.onPull { [clock] in #expect(clock.timerCount == timers) }
            #expect(try await response.body.collect(upTo: 10) == Data("abc".utf8))
            #expect(clock.timerCount == 0)
        }
    }

    @Test("No timer is left when a call ends in time")
    func disarmed() async throws {
        let client = Client(
            MockTransport { request in
                request.method == .get ? .ok(text: "x") : .stream([Data("x".utf8)])
            }, clock: clock, [.deadline(), .retry(), .attemptTimeout(), .idleTimeout()])
        for (method, timers) in [(HTTPMethod.get, 0), (.post, 1)] {
            let response = try await client.request(method, anywhere).response()
            // It covers content that is still to come.
            #expect(clock.timerCount == timers)
            #expect(try await response.body.collect(upTo: 10) == Data("x".utf8))
            #expect(clock.timerCount == 0)
        }
        do { _ = try await client.post(anywhere).response() }
        #expect(clock.timerCount == 0, "a dropped body disarms it too")
    }

    @Test("A caller's own deadline replaces the client's")
    func option() async throws {
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.deadline(.seconds(10))])
        let bare = Client(MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock, [])
        for client in [client, bare] {
            let call = Task { await code(of: client.get(anywhere).deadline(.seconds(3))) }
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(3))
            #expect(await call.value == .deadlineExceeded)
        }
    }

    @Test("The caller's cancellation stays a cancellation under a deadline")
    func cancellation() async throws {
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.deadline(), .retry(), .attemptTimeout()])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(3)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.timerCount == 0)
    }

    @Test("An attempt timeout covers only the head, and a retry tries again")
    func attempt() async throws {
        let transport = MockTransport([
            .any(.ok().delayed(by: .seconds(60)), .stream([Data("x".utf8)], every: .seconds(100)))
        ])
        let client = Client(
            transport, clock: clock,
            [.retry(backoff: Backoff(base: .zero)), .attemptTimeout(.seconds(5))])
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(5))
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(100))
            clock.advance(by: .seconds(100))
        }
        #expect(try await call.value == "x")
        #expect(transport.sentCount == 2)
    }

    @Test("Without a retry an attempt timeout has an error code of its own")
    func attemptError() async throws {
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.attemptTimeout(.milliseconds(300))])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .milliseconds(299))
        clock.advance(by: .milliseconds(1))
        #expect(await call.value == .attemptTimeout)
    }

    @Test("If the deadline leaves less than the attempt timeout, the deadline decides")
    func shorterDeadline() async throws {
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.deadline(.seconds(2)), .retry(), .attemptTimeout(.seconds(5))])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(2))
        #expect(await call.value == .deadlineExceeded)
    }

    @Test("A stalled body is idle; a slow reader or a steady drip is not")
    func idle() async throws {
        let chunks = [Data("a".utf8), Data("b".utf8)]
        let steady = Client(
            MockTransport { _ in .stream(chunks, every: .seconds(9)) }, clock: clock,
            [.idleTimeout(.seconds(10))])
        let response = try await steady.get(anywhere).response()
        clock.advance(by: .seconds(1000))
        let read = Task { try await response.body.collect(upTo: 10) }
        for _ in 0..<3 {
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(9))
        }
        #expect(try await read.value == Data("ab".utf8))
        let still = Client(
            MockTransport { _ in .stream(chunks, every: .seconds(11)) }, clock: clock,
            [.idleTimeout(.seconds(10))])
        let call = Task { await code(of: still.get(anywhere)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(10))
        #expect(await call.value == .idleTimeout)
        #expect(clock.timerCount == 0)
    }

    @Test("A body below the minimum rate is idle too")
    func rate() async throws {
        let chunks = Array(repeating: Data("x".utf8), count: 100)
        let client = Client(
            MockTransport { _ in .stream(chunks, every: .seconds(1)) }, clock: clock,
            [.idleTimeout(.seconds(10), minBytesPerSecond: 2, window: .seconds(5))])
        let call = Task { await code(of: client.get(anywhere)) }
        for _ in 0..<5 {
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(1))
        }
        #expect(await call.value == .idleTimeout)
    }
}
