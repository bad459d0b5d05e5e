// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

// At most ten statements each, on public API alone: what gates of other people must be able to do.

private struct SketchHedge: Interceptor {
    let delay: Duration
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await withThrowingTaskGroup(of: Response.self) { group in
            group.addTask { try await next.attempt(request) }
            group.addTask {
                try await context.sleep(for: delay)
                return try await next.attempt(request)
            }
            defer { group.cancelAll() }
            guard let winner = try await group.next() else { throw CancellationError() }
            return winner
        }
    }
}

private final class SketchCoalescer: Interceptor {
    let joins = AsyncStream.makeStream(of: Void.self)
    private let running = Mutex<[URL: Task<(ResponseHead, Data), any Error>]>([:])
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let task = running.withLock { running in
            if let task = running[request.url] { return task }
            // Ends by itself; a caller's cancellation does not reach the detached context.
            let task = Task { [self] in
                defer { self.running.withLock { $0[request.url] = nil } }
                let response = try await next(request, context: context.detached())
                return (response.head, try await response.body.collect(upTo: 1_048_576))
            }
            running[request.url] = task
            return task
        }
        joins.continuation.yield()
        let (head, content) = try await task.value
        return Response(head: head, body: ResponseBody(content))
    }
}

private final class SketchCache: Interceptor {
    private let stored = Mutex<[URL: (ResponseHead, Data)]>([:])
    var count: Int { stored.withLock { $0.count } }
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        if let (head, content) = stored.withLock({ $0[request.url] }) {
            return Response(head: head, body: ResponseBody(content))
        }
        let response = try await next(request)
        let copy = Collector()
        response.body.onChunk { copy.append($0) }
        response.body.onEnd { [self, head = response.head] end in
            if end.isFinished { stored.withLock { $0[request.url] = (head, copy.data) } }
        }
        return response
    }
}

private final class Collector: Sendable {
    private let kept = Mutex(Data())
    var data: Data { kept.withLock { $0 } }
    func append(_ chunk: Data) { kept.withLock { $0.append(chunk) } }
}

private actor SketchTokens {
    private(set) var token = "old"
    private(set) var refreshes = 0
    func refreshed(after used: String) -> String {
        if used == token {
            refreshes += 1
            token = "new"
        }
        return token
    }
}

private struct SketchBearer: Interceptor {
    let tokens: SketchTokens
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        var signed = request
        let token = await tokens.token
        signed.headers[.authorization] = "Bearer " + token
        let response = try await next(signed)
        guard response.status == .unauthorized, request.body.isReplayable else { return response }
        await response.discard(in: context)
        signed.headers[.authorization] = "Bearer " + (await tokens.refreshed(after: token))
        return try await next.attempt(signed)
    }
}

private struct SketchIdle: Interceptor {
    struct Idle: Error {}
    let limit: Duration
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let response = try await next(request)
        let watch = Watch()
        let canceller = response.body.canceller
        response.body.onPull { [limit] in
            watch.set(
                context.timeSource.schedule(after: limit) { canceller.cancel(.failed(Idle())) })
        }
        response.body.onChunk { _ in watch.set(nil) }
        response.body.onEnd { _ in watch.set(nil) }
        return response
    }

    private final class Watch: Sendable {
        private let timer = Mutex<(any TimerToken)?>(nil)
        func set(_ new: (any TimerToken)?) {
            timer.withLock { timer in
                timer?.cancel()
                timer = new
            }
        }
    }
}

private struct SketchCSV: ContentSerializer {
    var accept: [MediaType] { ["text/csv"] }
    func serialize(_ content: Data, of head: ResponseHead) throws -> [[String]] {
        String(decoding: content, as: UTF8.self).split(separator: "\n").map { line in
            line.split(separator: ",").map(String.init)
        }
    }
}

@Suite("Sketches on public API")
struct SketchTests {
    private let url = "http://a.example/thing"

    @Test("A hedge returns the faster response, and its body outlives the race")
    func hedge() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .any(.ok(text: "slow").delayed(by: .seconds(60)), .stream([Data("fast".utf8)]))
        ])
        let client = Client(
            transport: transport, stack: [SketchHedge(delay: .seconds(1))], timeSource: clock)
        async let text = client.get("http://a.example/thing").string()
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        #expect(try await text == "fast")
        #expect(transport.sentCount == 2)
        #expect(clock.timerCount == 0, "the slow attempt no longer waits")
    }

    @Test("A coalescer sends once for several callers, and a caller that leaves ends no other")
    func coalescer() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in .ok(text: "one").delayed(by: .seconds(1)) }
        let coalescer = SketchCoalescer()
        let client = Client(transport: transport, stack: [coalescer], timeSource: clock)
        let first = client.get(Target(url)).start(.string)
        try await clock.waitForTimers(1)
        let others = (0..<5).map { _ in client.get(Target(url)).start(.string) }
        for await _ in coalescer.joins.stream.prefix(6) {}
        first.cancel()
        clock.advance(by: .seconds(1))
        for other in others { #expect(try await other.value == "one") }
        #expect(transport.sentCount == 1)
    }

    @Test("A caching tee stores only content that was read completely")
    func cache() async throws {
        let transport = MockTransport([
            .any(.stream([Data("ab".utf8)], thenThrow: URLError(.unknown)), .ok(text: "abc"))
        ])
        let cache = SketchCache()
        let client = Client(transport: transport, stack: [cache])
        await #expect(throws: URLError.self) { try await client.get(Target(url)).data() }
        #expect(cache.count == 0)
        #expect(try await client.get(Target(url)).string() == "abc")
        #expect(try await client.get(Target(url)).string() == "abc")
        #expect(transport.sentCount == 2)
    }

    @Test("A bearer gate replays once with a fresh token")
    func bearer() async throws {
        let transport = MockTransport { request in
            request.headers[.authorization] == "Bearer new" ? .ok(text: "in") : .status(401)
        }
        let tokens = SketchTokens()
        let client = Client(transport: transport, stack: [SketchBearer(tokens: tokens)])
        let call = client.post(Target(url), body: .text("hello"))
        #expect(try await call.string() == "in")
        #expect(transport.sent.map(\.body) == [Data("hello".utf8), Data("hello".utf8)])
        #expect(await tokens.refreshes == 1)
    }

    @Test("An idle timeout counts only while the reader waits")
    func idle() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in
            .stream([Data("a".utf8), Data("b".utf8)], every: .seconds(3))
        }
        let client = Client(
            transport: transport, stack: [SketchIdle(limit: .seconds(2))], timeSource: clock)
        let response = try await client.get(Target(url)).response()
        clock.advance(by: .seconds(100))
        let reading = Task { try await response.body.collect(upTo: 10) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(2))
        await #expect(throws: SketchIdle.Idle.self) { try await reading.value }
    }

    @Test("A custom serializer asks for its type and gives its value")
    func serializer() async throws {
        let transport = MockTransport { _ in
            .status(200, headers: ["Content-Type": "text/csv"], body: Data("a,b\nc,d".utf8))
        }
        let client = Client(transport: transport, stack: [])
        let rows = try await client.get(Target(url)).serialize(with: SketchCSV())
        #expect(rows == [["a", "b"], ["c", "d"]])
        #expect(transport.sent.first?.request.headers[.accept] == "text/csv")
    }
}
