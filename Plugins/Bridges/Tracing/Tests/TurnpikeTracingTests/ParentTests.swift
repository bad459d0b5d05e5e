// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Testing
import Tracing
import Turnpike
import TurnpikeInspection
import TurnpikeStackFiles
import TurnpikeTesting
import TurnpikeTracing

@Suite("Parents, children and places", .timeLimit(.minutes(5)))
struct ParentTests {
    /// Calls another client before each request.
    private struct AsksFirst: Interceptor {
        let other: Client
        var isDetached = false

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            try await other.get("https://tokens.example/").empty()
            if !isDetached { return try await next(request) }
            return try await Task.detached { try await next(request) }.value
        }
    }

    @Test("The parent of a call is the span around it")
    func parent() async throws {
        let traced = Traced(MockTransport { _ in .ok() })
        let outer = try await traced.tracer.withSpan("handler") { span in
            try await traced.client.get(anywhere).empty()
            return span
        }
        #expect(traced.calls.last?.parentSpanID == nil || traced.calls.count == 2)
        let call = try #require(traced.calls.first { $0.operationName == "GET" })
        #expect(call.parentSpanID == outer.spanID)
        #expect(traced.attempts.first?.parentSpanID == call.spanID)
        #expect(traced.attempts.first?.traceID == outer.traceID)
    }

    @Test("Without a span around it, a call begins a trace")
    func root() async throws {
        let traced = Traced(MockTransport { _ in .ok() })
        for _ in 0..<2 { try await traced.client.get(anywhere).empty() }
        #expect(traced.calls.allSatisfy { $0.parentSpanID == nil })
        #expect(Set(traced.calls.map(\.traceID)).count == 2)
    }

    @Test("A handle's call belongs to the task that started it")
    func handle() async throws {
        let traced = Traced(MockTransport { _ in .ok(text: "x") })
        let outer = try await traced.tracer.withSpan("handler") { span in
            let running = traced.client.get(anywhere).start(StringSerializer())
            _ = try await running.value
            return span
        }
        #expect(traced.calls.contains { $0.parentSpanID == outer.spanID })
    }

    @Test(
        "What a gate asks another client is a child of the call, in whatever task it goes on",
        arguments: [false, true])
    func gates(isDetached: Bool) async throws {
        let tracer = InMemoryTracer()
        let tokens = Client(
            transport: MockTransport { _ in .ok() }, stack: [.tracing([], tracer: tracer)])
        let client = Client(
            transport: MockTransport { _ in .ok() },
            stack: [.tracing([AsksFirst(other: tokens, isDetached: isDetached)], tracer: tracer)])
        try await client.get(anywhere).empty()
        let spans = tracer.finishedSpans
        func span(_ kind: SpanKind, _ host: String) throws -> FinishedInMemorySpan {
            try #require(spans.first { $0.kind == kind && $0.texts["server.address"] == host })
        }
        let call = try span(.internal, "example.com")
        #expect(call.parentSpanID == nil)
        #expect(try span(.internal, "tokens.example").parentSpanID == call.spanID)
        #expect(try span(.client, "example.com").parentSpanID == call.spanID)
        let token = try span(.client, "tokens.example")
        #expect(try token.parentSpanID == span(.internal, "tokens.example").spanID)
        #expect(spans.count == 4 && Set(spans.map(\.traceID)).count == 1)
        #expect(spans.allSatisfy { $0.texts["http.request.resend_count"] == nil })
    }

    @Test(
        "Suppressed calls make no spans and send no context, also in tasks and with other clients")
    func suppressed() async throws {
        let transport = MockTransport { _ in .ok() }
        let traced = Traced(transport, [AsksFirst(other: Client(transport: transport, stack: []))])
        try await Tracing.suppressed {
            try await traced.client.get(anywhere).urlTemplate("/users/{id}").empty()
            try await Task { try await traced.client.get(anywhere).empty() }.value
        }
        #expect(traced.tracer.finishedSpans.isEmpty && traced.tracer.activeSpans.isEmpty)
        #expect(traced.tracer.performedContextInjections.isEmpty)
        #expect(transport.sent.allSatisfy { $0.request.headers[.traceparent] == nil })
        try await traced.client.get(anywhere).empty()
        #expect(traced.tracer.finishedSpans.count == 2)
    }

    @Test("Without a tracer nothing is made and nothing fails")
    func noTracer() async throws {
        let transport = MockTransport { _ in .ok(text: "x") }
        let client = Client(transport: transport, stack: [.tracing([.retry()])])
        #expect(try await client.get(anywhere).string() == "x")
        #expect(transport.sent.first?.request.headers[.traceparent] == nil)
    }

    @Test("The tracer of the task is taken when a call begins")
    func taskTracer() async throws {
        let tracer = InMemoryTracer()
        let client = Client(transport: MockTransport { _ in .ok() }, stack: [.tracing([])])
        try await withTracer(tracer) { try await client.get(anywhere).empty() }
        #expect(tracer.finishedSpans.count == 2 && tracer.performedContextInjections.count == 1)
    }

    // MARK: Places

    private func findings(_ stack: Stack) -> [String] {
        stack.lint(for: MockTransport { _ in .ok() }).filter { $0.rule == "stated-order" }
            .map(\.story)
    }

    @Test("The linter finds nothing in a traced stack, and finds gates that left the group")
    func lint() {
        #expect(findings([.tracing([.redirect(), .retry(), .attemptTimeout()])]).isEmpty)
        #expect(findings([.log(to: MemoryLogSink()), .tracing([.retry()]), .limits()]).isEmpty)
        #expect(
            findings([.tracing([]), .retry()]).first?.contains("AttemptSpan must stand") == true)
        #expect(findings([.retry(), .tracing([])]).first?.contains("CallSpan must stand") == true)
    }

    @Test("Options of gates inside are handled by them")
    func options() async throws {
        let traced = Traced(
            MockTransport { _ in .ok().delayed(by: .seconds(3600)) }, [.deadline(.seconds(50))])
        let call = Task { try await traced.client.get(anywhere).deadline(.seconds(5)).data() }
        try await traced.clock.waitForTimer(in: .seconds(3600))
        traced.clock.advance(by: .seconds(5))
        await #expect(throws: ClientError.self) { try await call.value }
        #expect(traced.calls.first?.errorType == "deadlineExceeded")
    }

    @Test("In a stack file the gate stands twice")
    func stackFile() async throws {
        var registry = Registry.standard
        registry.registerTracing()
        let file = try StackFile(
            parsing: Data(
                #"{"stack": [{"use": "tracing"}, {"use": "retry"}, {"use": "tracing", "spans": "attempts"}]}"#
                    .utf8))
        let transport = MockTransport { _ in .ok() }
        registry.register(transport: "mock") { _ in transport }
        let stack = try ConfiguredClient(file, registry: registry, serializers: .standard)
            .client.stack
        #expect(findings(stack).isEmpty)
        let tracer = InMemoryTracer()
        try await withTracer(tracer) {
            try await Client(transport: transport, stack: stack).get(anywhere).empty()
        }
        let spans = tracer.finishedSpans
        #expect(
            spans.map(\.kind) == [.client, .internal] || spans.map(\.kind) == [.internal, .client])
        let call = spans.first { $0.kind == .internal }
        #expect(spans.first { $0.kind == .client }?.parentSpanID == call?.spanID)
    }
}
