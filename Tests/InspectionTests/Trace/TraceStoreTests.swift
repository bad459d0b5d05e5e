// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("TraceStore")
struct TraceStoreTests {
    private let clock = ManualClock()

    private func client(
        _ store: TraceStore, seed: UInt64 = 1,
        _ answer: @escaping @Sendable (Request, Context) async throws -> Response = {
            request, _ in
            Response(to: request, status: 200, body: ResponseBody(Data("a".utf8)))
        }
    ) -> Client {
        Client(
            transport: Scripted(answer), stack: Stack(), serializers: SerializerTable(),
            trace: store, timeSource: clock, randomSource: SeededRandomSource(seed: seed))
    }

    @Test("All calls are kept by default, in the order in which they began")
    func all() async throws {
        let store = TraceStore()
        let client = client(store)
        let open = try await client.get("http://a.example/1").response()
        let call = client.get("http://a.example/2").traced()
        _ = try await call.serialize(with: Text())
        #expect(store.traces.map { $0.spans[0].name } == ["GET /1", "GET /2"])
        #expect(store.traces.map(\.isComplete) == [false, true])
        #expect(store.traces.last == call.trace)
        _ = try await open.body.collect(upTo: 10)
        #expect(store.traces.map(\.isComplete) == [true, true])
        #expect(store.traces.map { $0.spans[0].name } == ["GET /1", "GET /2"])
        #expect(store.traces[0].id != store.traces[1].id)
        #expect(store.traces[0].date == clock.date)
        store.removeAll()
        #expect(store.traces.isEmpty)
    }

    @Test("A share of the calls is kept, the same as that of logs")
    func share() async throws {
        let store = TraceStore(sampling: 0.3)
        let client = Client(
            transport: MockTransport { request in .ok() },
            stack: [
                Around { request, context, next in
                    if context.random.share < 0.3 { context.call.record.waits(nil) }
                    var request = request
                    request.headers["X-Share"] = context.random.share < 0.3 ? "in" : "out"
                    return try await next(request)
                }
            ], serializers: SerializerTable(), trace: store, timeSource: clock,
            randomSource: SeededRandomSource(seed: 7))
        for _ in 0..<200 { _ = try await client.get(anywhere).response() }
        let kept = store.traces.compactMap { trace in
            trace.spans.first { $0.kind == .exchange }?.exchange?.requestHeaders["X-Share"]
        }
        #expect((40...80).contains(kept.count))
        #expect(kept.allSatisfy { $0 == "in" })
    }

    @Test("Failures are kept whatever the share; cancelled calls are none")
    func failures() async throws {
        let store = TraceStore(sampling: 0)
        let client = client(store) { request, _ in
            switch request.url.path {
            case "/error": throw ClientError(.connection, "lost")
            case "/404": Response(to: request, status: 404)
            case "/cancelled": throw CancellationError()
            case "/cut":
                Response(
                    to: request, status: 200,
                    body: ResponseBody(
                        AsyncThrowingStream { $0.finish(throwing: ClientError(.incomplete, "x")) }))
            default: Response(to: request, status: 304)
            }
        }
        for path in ["error", "404", "cancelled", "cut", "304"] {
            let target = Target("http://a.example/" + path)
            let response = try? await client.get(target).response()
            _ = try? await response?.body.collect(upTo: 10)
        }
        #expect(store.traces.map { $0.spans[0].name } == ["GET /error", "GET /404", "GET /cut"])
    }

    @Test("Slow calls are kept whatever the share, their bodies included")
    func slow() async throws {
        let store = TraceStore(sampling: 0, slowerThan: .seconds(2))
        let client = client(store) { [clock] request, _ in
            clock.advance(by: request.url.path == "/head" ? .seconds(2) : .seconds(1))
            return Response(to: request, status: 200, body: ResponseBody(Data("a".utf8)))
        }
        for path in ["head", "body", "fast"] {
            let response = try await client.get(Target("http://a.example/" + path)).response()
            if path == "body" { clock.advance(by: .seconds(1)) }
            _ = try await response.body.collect(upTo: 10)
        }
        #expect(store.traces.map { $0.spans[0].name } == ["GET /head", "GET /body"])
    }

    @Test("The ring is bounded in calls")
    func calls() async throws {
        let store = TraceStore(maxCalls: 3)
        let client = client(store)
        var open: [Response] = []
        for number in 0..<5 {
            _ = try await client.get("http://a.example/\(number)").serialize(with: Text())
            open.append(try await client.get("http://a.example/open/\(number)").response())
        }
        #expect(
            store.traces.map { $0.spans[0].name } == [
                "GET /open/0", "GET /open/1", "GET /2", "GET /open/2", "GET /3", "GET /4",
            ])
        withExtendedLifetime(open) {}
    }

    @Test("The ring is bounded in bytes, but keeps the newest trace")
    func bytes() async throws {
        let store = TraceStore(maxBytes: 6000)
        let client = client(store)
        for number in 0..<20 {
            _ = try await client.get("http://a.example/\(number)").serialize(with: Text())
        }
        let bytes = store.traces.reduce(0) { $0 + $1.byteCount }
        #expect(bytes <= 6000 && bytes > 3000, "\(bytes)")
        #expect(store.traces.last?.spans[0].name == "GET /19")
        let none = TraceStore(maxCalls: 0, maxBytes: 0)
        for _ in 0..<2 {
            _ = try await self.client(none).get(anywhere).serialize(with: Text())
        }
        #expect(none.traces.count == 1)
    }

    @Test("A wait of the client between two exchanges is no call of its own")
    func waitOfClient() async throws {
        let store = TraceStore()
        let call = client(store).get(anywhere)
        async let wait: Void = call.wait(for: .seconds(1))
        try await clock.waitForTimers(1)
        #expect(store.traces.isEmpty)
        clock.advance(by: .seconds(1))
        try await wait
        #expect(store.traces.isEmpty)
    }

    @Test("A store belongs to several clients")
    func shared() async throws {
        let store = TraceStore()
        for seed in 1...3 {
            _ = try await client(store, seed: UInt64(seed)).get(anywhere).serialize(with: Text())
        }
        #expect(Set(store.traces.map(\.id)).count == 3)
    }
}
