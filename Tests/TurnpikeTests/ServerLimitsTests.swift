// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

/// A gate of a user's own that slows down before the server refuses.
private struct Considerate: Interceptor {
    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let response = try await next(request)
        let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
        let wait =
            response.headers.retryAfter(at: context.timeSource.date)
            ?? used.compactMap(\.effectiveWindow).max()
        if let wait { try await context.sleep(for: wait) }
        return response
    }
}

@Suite("What a server says of its limits")
struct ServerLimitsTests {
    private let clock = ManualClock()

    private func client(_ response: MockResponse, _ stack: Stack) -> Client {
        Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in response }, stack: stack,
            timeSource: clock)
    }

    @Test("Quotas and what is left of them are values")
    func values() async throws {
        let client = client(
            .ok(
                json: ["id": 1],
                headers: [
                    "RateLimit-Policy": "\"hour\";q=1000;w=3600",
                    "RateLimit": "\"hour\";r=12;t=600",
                ]), .standard)
        let (_, response) = try await client.get("users/1").decoded(JSONValue.self)
        let limit = try #require(response.headers.rateLimits.first)
        let policy = try #require(
            response.headers.rateLimitPolicies.first { $0.name == limit.policy })
        #expect(limit.availableQuota == 12 && policy.quota == 1000)
        #expect(limit.effectiveWindow == .seconds(600) && policy.window == .seconds(3600))
        #expect(policy.unit == "requests")
    }

    @Test("A response that asks to come back later says when, as seconds or as a date")
    func retryAfter() async throws {
        for wish in ["30", "Tue, 14 Nov 2023 22:13:50 GMT"] {
            let response = try await client(.status(202, headers: ["Retry-After": wish]), .standard)
                .post("jobs").response()
            #expect(response.headers.retryAfter(at: clock.date) == .seconds(30))
        }
    }

    @Test("A gate waits for as long as the fields say, and a Retry-After counts first")
    func gate() async throws {
        for (headers, seconds) in [
            (["RateLimit": "\"a\";r=0;t=7, \"b\";r=0;t=9, \"c\";r=5;t=60"], 9),
            (["RateLimit": "\"a\";r=0;t=7", "Retry-After": "20"], 20),
        ] as [(HTTPHeaders, Int)] {
            let client = client(.ok(text: "x", headers: headers), [Considerate()])
            async let text = client.get("x").string()
            try await clock.waitForTimer(in: .seconds(seconds))
            clock.advance(by: .seconds(seconds))
            #expect(try await text == "x")
        }
    }

    @Test("A hostile server can neither stop the program nor make it wait")
    func hostile() async throws {
        for value in [
            "\"a\";r=0;t=99999999999999999999", "\"a\";r=-1;t=5", "\"a\";r=0;t=-5", "junk", ";;;",
            String(repeating: "\"a\";", count: 10_000),
        ] {
            let client = client(
                .ok(text: "x", headers: ["RateLimit": value, "Retry-After": "-5"]), [Considerate()])
            #expect(try await client.get("x").string() == "x")
        }
    }
}

/// Hands on the lines of a log.
private struct Lines: LogSink {
    let stream = AsyncStream.makeStream(of: String.self)

    func write(_ line: String) { stream.continuation.yield(line) }
    func flush() async {}

    /// Waits for a line that contains a text.
    func next(containing text: String) async {
        for await line in stream.stream where line.contains(text) { return }
    }
}

@Suite("Calls that wait in line")
struct WaitingInLineTests {
    private let clock = ManualClock()

    @Test("More calls than a limit allows are all answered, and the log says once that they wait")
    func allServed() async throws {
        let underWay = Mutex((now: 0, most: 0))
        let sink = MemoryLogSink()
        let transport = MockTransport { _ in
            underWay.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            underWay.withLock { $0.now -= 1 }
            return .ok(text: "x")
        }
        let client = Client(
            baseURL: "http://a.example/", transport: transport,
            stack: [.log(to: sink), .concurrencyLimit(perOrigin: 4)], timeSource: clock)
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<200 { group.addTask { try await client.get("\(number)").string() } }
            for try await text in group { #expect(text == "x") }
        }
        #expect(underWay.withLock { $0.most } <= 4)
        #expect(sink.lines.count { $0.contains("wait in line") } <= 1)
    }

    @Test("A worker under a rate limit logs its calls, and once in ten seconds that they wait")
    func worker() async throws {
        let sink = MemoryLogSink()
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok(text: "x") },
            stack: [.log(to: sink), .rateLimit(perSecond: 10)], timeSource: clock)
        #expect(try await client.get("first").string() == "x")
        for number in 0..<100 {
            let call = Task { try await client.get("\(number)").string() }
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
            #expect(try await call.value == "x")
        }
        #expect(sink.lines.count { $0.contains("wait in line") } == 1)
        #expect(sink.lines.count == 102, "a line for each call, and that one")
    }

    @Test("A call that spends its deadline in line is told so")
    func deadline() async throws {
        let lines = Lines()
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok(text: "x") },
            stack: [.log(to: lines), .deadline(.seconds(3)), .concurrencyLimit(total: 1)],
            timeSource: clock)
        let held = try await client.get("held").response()
        let call = Task { try await client.get("late").string() }
        await lines.next(containing: "wait in line")
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("in line for a permit to call http://a.example") == true)
        #expect(try await held.body.collect(upTo: 10) == Data("x".utf8))
    }
}
