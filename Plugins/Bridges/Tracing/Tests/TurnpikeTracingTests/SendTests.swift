// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Synchronization
import Testing
import Tracing
import Turnpike
import TurnpikeCache
import TurnpikeTesting
import TurnpikeTracing
import TurnpikeTraffic

@Suite("The requests of a call", .timeLimit(.minutes(5)))
struct SendTests {
    private func injected(_ exchange: MockExchange) -> String? {
        exchange.request.headers[.init(InMemoryTracer.spanIDKey)]
    }

    @Test("Each attempt of a retry has a span, with its number, its outcome and its own context")
    func retry() async throws {
        let answers = Mutex<[MockResponse]>([.status(503), .connectionRefused, .ok(text: "x")])
        let transport = MockTransport { _ in answers.withLock { $0.removeFirst() } }
        let traced = Traced(transport, [.retry(attempts: 3, budget: nil)])
        let call = Task { try await traced.client.get(anywhere).string() }
        for _ in 0..<2 {
            try await traced.clock.waitForTimers(1)
            traced.clock.advanceToNextTimer()
        }
        #expect(try await call.value == "x")
        let span = try #require(traced.calls.first)
        let attempts = traced.attempts
        #expect(traced.calls.count == 1 && attempts.count == 3)
        #expect(attempts.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2"])
        #expect(attempts.map(\.errorType) == ["503", "connection", nil])
        #expect(attempts.allSatisfy { $0.parentSpanID == span.spanID })
        // The transport also receives a request whose connection is refused.
        #expect(transport.sent.map(injected) == attempts.map(\.spanID))
        #expect(span.errorType == nil && !span.isError)
        #expect(span.events.map(\.name) == ["turnpike.back_off", "turnpike.back_off"])
        let texts = span.events.map(\.attributes.texts)
        #expect(texts.map { $0["error.type"] } == ["503", "connection"])
        #expect(texts.map { $0["turnpike.attempt"] } == ["2", "3"])
        #expect(texts.allSatisfy { Double($0["turnpike.delay"] ?? "") ?? 0 > 0 })
        #expect(traced.tracer.activeSpans.isEmpty)
    }

    @Test("Each copy of a hedge has a span; one that lost ends as cancelled")
    func hedge() async throws {
        let count = Mutex(0)
        let transport = MockTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? .ok().delayed(by: .seconds(3600)) : .ok(text: "second")
        }
        let traced = Traced(transport, [.hedge(after: .seconds(1), budget: nil)])
        let call = Task { try await traced.client.get(anywhere).string() }
        try await traced.clock.waitForTimer(in: .seconds(3600))
        try await traced.clock.waitForTimer(in: .seconds(1))
        traced.clock.advance(by: .seconds(1))
        #expect(try await call.value == "second")
        // The task of the losing copy ends later.
        while !traced.tracer.activeSpans.isEmpty { await Task.yield() }
        let attempts = traced.attempts
        #expect(attempts.map(\.errorType) == ["cancelled", nil])
        #expect(attempts.allSatisfy { !$0.isError })
        #expect(attempts.map { $0.texts["http.request.resend_count"] } == [nil, "1"])
        #expect(attempts.allSatisfy { $0.parentSpanID == traced.calls.first?.spanID })
        #expect(traced.calls.first?.events.map(\.name) == ["turnpike.note"])
        #expect(Set(transport.sent.map(injected)) == Set(attempts.map(\.spanID)))
    }

    @Test("Each hop has a span; its trace context goes to other origins as well, and no baggage")
    func redirect() async throws {
        let transport = MockTransport { request in
            switch request.url.path() {
            case "/users/1": .status(302, headers: ["Location": "/users/2"])
            case "/users/2":
                .status(302, headers: ["Location": "https://other.example/?token=hunter2secret"])
            default: .ok(text: "x")
            }
        }
        let tracer = WireTracer()
        let client = Client(
            transport: transport, stack: [.tracing([.redirect()], tracer: tracer)])
        #expect(
            try await client.get(anywhere).urlTemplate("/users/{id}").string() == "x")
        let spans = tracer.base.finishedSpans
        let attempts = spans.filter { $0.kind == .client }
        #expect(attempts.map(\.operationName) == ["GET /users/{id}", "GET", "GET"])
        #expect(
            attempts.map { $0.texts["server.address"] } == [
                "example.com", "example.com", "other.example",
            ])
        #expect(attempts.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2"])
        let headers = transport.sent.map(\.request.headers)
        #expect(headers.map { $0[.traceparent] } == attempts.map(\.spanID))
        #expect(headers.map { $0["baggage"] } == ["user=1", "user=1", nil])
        let call = try #require(spans.first { $0.kind == .internal })
        #expect(call.events.map(\.name) == ["turnpike.redirect", "turnpike.redirect"])
        #expect(
            call.events.last?.attributes.texts == [
                "http.response.status_code": "302",
                "url.full": "https://other.example/?token=REDACTED",
            ])
        #expect(call.texts["server.address"] == "example.com")
    }

    @Test("No hop is named after the template of another URL, wherever the redirect is followed")
    func template() async throws {
        for isOutside in [false, true] {
            let transport = MockTransport { request in
                request.url.path() == "/users/1"
                    ? .status(302, headers: ["Location": "https://login.example/sso"])
                    : .ok(text: "x")
            }
            let traced = Traced(
                transport, around: isOutside ? [.redirect()] : [],
                isOutside ? [] : [.redirect()])
            let call = traced.client.get(anywhere).urlTemplate("/users/{id}")
            #expect(try await call.string() == "x")
            #expect(traced.attempts.map(\.operationName) == ["GET /users/{id}", "GET"])
            let names = ["GET /users/{id}", "GET"]
            #expect(traced.calls.map(\.operationName) == Array(names.prefix(isOutside ? 2 : 1)))
        }
    }

    @Test("A hop that was rewritten by another gate than a redirect has no template either")
    func rewritten() async throws {
        struct Elsewhere: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                try await next(Request(.get, "https://login.example/sso"))
            }
        }
        let traced = Traced(MockTransport { _ in .ok(text: "x") }, [Elsewhere()])
        _ = try await traced.client.get(anywhere).urlTemplate("/users/{id}").string()
        #expect(traced.calls.map(\.operationName) == ["GET /users/{id}"])
        #expect(traced.attempts.map(\.operationName) == ["GET"])
    }

    @Test("A breaker's change is an event, and a refused call has no request")
    func breaker() async throws {
        let traced = Traced(
            MockTransport { _ in .status(503) }, [.circuitBreaker(failureRatio: 0.5, minimum: 1)])
        _ = try await traced.client.get(anywhere).data()
        await #expect(throws: ClientError.self) { try await traced.client.get(anywhere).data() }
        #expect(traced.attempts.count == 1)
        #expect(traced.calls.map(\.errorType) == ["503", "circuitOpen"])
        let event = try #require(traced.calls.first?.events.first)
        #expect(event.name == "turnpike.note")
        #expect(event.attributes.texts["turnpike.gate"] == "CircuitBreaker")
    }

    @Test("A stored response has the span of its call alone")
    func cache() async throws {
        let transport = MockTransport { _ in
            .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
        }
        let traced = Traced(transport, [.cache()])
        for _ in 0..<2 { #expect(try await traced.client.get(anywhere).string() == "x") }
        #expect(traced.calls.count == 2 && traced.attempts.count == 1)
        #expect(traced.calls.map { $0.texts["http.response.status_code"] } == ["200", "200"])
        #expect(traced.tracer.activeSpans.isEmpty)
    }

    @Test("Calls that share a request have a span each; the request is in the first one's trace")
    func coalesce() async throws {
        let transport = MockTransport { _ in .ok(text: "x").delayed(by: .seconds(1)) }
        let traced = Traced(transport, [.coalesce()])
        let calls = (0..<2).map { _ in
            Task {
                try await traced.client.get(anywhere).urlTemplate("/users/{id}").string()
            }
        }
        try await traced.clock.waitForTimer(in: .seconds(1))
        // Both calls have begun before the answer arrives.
        while traced.tracer.activeSpans.count < 3 || !isWaiting(traced) { await Task.yield() }
        traced.clock.advance(by: .seconds(1))
        for call in calls { #expect(try await call.value == "x") }
        #expect(transport.sentCount == 1)
        #expect(traced.calls.count == 2 && traced.attempts.count == 1)
        let parent = traced.attempts.first?.parentSpanID
        #expect(traced.calls.contains { $0.spanID == parent })
        #expect(traced.attempts.first?.operationName == "GET /users/{id}")
    }

    private func isWaiting(_ traced: Traced) -> Bool {
        traced.tracer.activeSpans.contains { $0.events.contains { $0.name == "turnpike.note" } }
    }

    @Test("The header that a server gets names the span of that request", arguments: [false, true])
    func loopback(isStreamed: Bool) async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.route("/", .status(503), .ok(text: "x"))
        let tracer = InMemoryTracer()
        let client = Client(
            transport: URLSessionTransport(),
            stack: [
                .tracing(
                    [
                        .retry(attempts: 2, backoff: Backoff(base: .zero), budget: nil),
                        .attemptTimeout(),
                    ],
                    tracer: tracer)
            ])
        if isStreamed {
            let response = try await client.get(server.target).response()
            #expect(try await response.body.collect(upTo: 10) == Data("x".utf8))
        } else {
            #expect(try await client.get(server.target).string() == "x")
        }
        let attempts = tracer.finishedSpans.filter { $0.kind == .client }
        let headers = server.requests.map(\.headers)
        #expect(attempts.count == 2 && tracer.activeSpans.isEmpty)
        #expect(
            headers.map { $0[.init(InMemoryTracer.spanIDKey)] } == attempts.map(\.spanID))
        #expect(
            headers.map { $0[.init(InMemoryTracer.traceIDKey)] } == attempts.map(\.traceID))
        #expect(
            attempts.map { $0.texts["server.port"] } == [String(server.port), String(server.port)])
        await client.shutdown(grace: .seconds(5))
    }
}
