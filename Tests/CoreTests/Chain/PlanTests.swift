// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore

/// A gate of all five roles, which tells when each of them acts.
private struct Everything: RequestAdapter, RequestRetrier, ResponseValidator, RequestLogger,
    MetricsRecorder
{
    let notes: Notes
    func adapt(_ request: inout Request, context: Context) async throws { notes.add("adapt") }
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        notes.add("retry \(outcome.status?.code ?? 0)")
        return outcome.attempts < 2 ? .retry(after: .zero) : .stop
    }
    func validate(_ response: Response, for request: Request, context: Context) throws {
        notes.add("validate")
    }
    func log(_ event: CallEvent) { notes.add("log \("\(event.kind)".prefix { $0 != "(" })") }
    func record(_ measurement: CallMeasurement) { notes.add("record \(measurement.resendCount)") }
}

private struct Tag: SynchronousRequestAdapter {
    let value: String
    func adapt(_ request: inout Request, context: Context) {
        request.headers.append("X-Tag", value)
    }
}

@Suite("Plan")
struct PlanTests {
    @Test("Gates run as written, outermost first, and back")
    func order() async throws {
        let notes = Notes()
        func gate(_ name: String) -> Around {
            Around { request, _, next in
                notes.add("> \(name)")
                defer { notes.add("< \(name)") }
                return try await next(request)
            }
        }
        let client = Client(MockTransport { _ in .ok() }, gate("a"), gate("b"))
        _ = try await client.get(anywhere).response()
        #expect(notes.all == ["> a", "> b", "< b", "< a"])
    }

    @Test("Several Cookie lines reach every transport as one", arguments: [1, 2, 3])
    func cookies(count: Int) async throws {
        let sent = Notes()
        let transport = MockTransport { request in
            for line in request.headers.values(of: .cookie) { sent.add(line) }
            return .ok()
        }
        var call = Client(transport).get(anywhere)
        for number in 1...count { call.request.headers.append("cookie", "a=\(number)") }
        let seen = call.request.headers[.cookie]
        _ = try await call.response()
        #expect(sent.all == [(1...count).map { "a=\($0)" }.joined(separator: "; ")])
        #expect(seen == sent.all.first, "gates read what is sent")
    }

    @Test(
        "A range request asks for no content coding, unless the caller names some",
        arguments: [
            ([:], nil), (["Range": "bytes=0-9"], "identity"),
            (["Range": "bytes=0-9", "Accept-Encoding": "gzip"], "gzip"),
        ] as [(HTTPHeaders, String?)])
    func ranges(headers: HTTPHeaders, codings: String?) async throws {
        let transport = MockTransport { request in
            .ok(text: request.headers[.acceptEncoding] ?? "none")
        }
        let call = Client(transport).get(anywhere, headers: headers)
        #expect(try await call.serialize(with: Text()) == codings ?? "none")
    }

    @Test("A gate of several roles becomes nodes in a fixed order")
    func lowering() async throws {
        let notes = Notes()
        let transport = MockTransport { _ in
            notes.add("send")
            return .status(200)
        }
        let client = Client(transport, Everything(notes: notes))
        _ = try await client.get(anywhere).response()
        #expect(
            notes.all == [
                "log began", "adapt", "log sent", "send", "log received", "validate", "retry 200",
                "log retrying", "adapt", "log sent", "send", "log received", "validate",
                "retry 200",
                "log responded", "log bodyEnded", "record 1",
            ])
    }

    @Test("A gate with its own intercept has no other role")
    func interceptorWins() async throws {
        struct Both: Interceptor, SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {
                request.headers["X-Adapted"] = "1"
            }
            func intercept(_ request: Request, context: Context, next: Next) async throws
                -> Response
            {
                try await next(request)
            }
        }
        let transport = MockTransport { _ in .ok() }
        _ = try await Client(transport, Both()).get(anywhere).response()
        #expect(transport.sent.first?.request.headers["X-Adapted"] == nil)
    }

    @Test("Adapters run in order, and the caller's request stays as it was")
    func adapters() async throws {
        let transport = MockTransport { _ in .ok() }
        let call = Client(transport, Tag(value: "1"), Tag(value: "2")).get(anywhere)
        _ = try await call.through(Tag(value: "3")).response()
        #expect(transport.sent.first?.request.headers.values(of: "X-Tag") == ["1", "2", "3"])
        #expect(call.request.headers.isEmpty)
    }

    @Test("A gate may return a response without the transport")
    func shortCircuit() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport, Around { request, _, _ in Response(to: request, status: 304) })
        #expect(try await client.get(anywhere).response().status == 304)
        #expect(transport.sentCount == 0)
    }

    @Test("A thirteenth send is refused, whichever gate loops", arguments: [true, false])
    func sendLimit(opensAttempts: Bool) async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport,
            Around { request, context, next in
                while true {
                    let response =
                        opensAttempts ? try await next.attempt(request) : try await next(request)
                    await response.discard(in: context)
                }
            })
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .sendLimit)
        #expect(error?.attempts == 12)
        #expect(transport.sentCount == 12)
    }

    @Test("A request that a gate has made invalid is refused after the last gate")
    func lastLook() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, Tag(value: "a\r\nX-Injected: s3cret"))
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .invalidRequest)
        #expect(error.map { !"\($0)".contains("s3cret") && "\($0)".contains("X-Tag") } == true)
        #expect(transport.sentCount == 0)
    }

    @Test("A live body over a transport that cannot send one is refused, naming what is missing")
    func liveBody() async throws {
        let transport = MockTransport(capabilities: []) { _ in .ok() }
        let live = RequestBody.stream(live: true) { AsyncStream<Data> { $0.finish() } }
        let second = await #expect(throws: ClientError.self) {
            try await Client(transport).post(anywhere, body: live).response()
        }
        #expect(second?.code == .unsupported)
        #expect(second?.message.contains("needs live upload") == true)
        #expect(transport.sentCount == 0)
    }

    @Test("Attempts are numbered from 1, replays included")
    func attemptNumbers() async throws {
        let notes = Notes()
        let inner = Around { request, context, next in
            notes.add("\(context.attempt)")
            return try await next(request)
        }
        let replay = Around { request, context, next in
            await (try await next(request)).discard(in: context)
            return try await next.attempt(request)
        }
        _ = try await Client(MockTransport { _ in .ok() }, inner).get(anywhere).response()
        _ = try await Client(MockTransport { _ in .ok() }, replay, inner).get(anywhere).response()
        #expect(notes.all == ["1", "1", "2"])
    }

    @Test("Next may be kept and called from another task")
    func escapingNext() async throws {
        let client = Client(
            MockTransport { _ in .ok(text: "x") },
            Around { request, _, next in try await Task { try await next(request) }.value })
        #expect(try await client.get(anywhere).serialize(with: Text()) == "x")
    }

    @Test("A stack is built from types, conditions and loops")
    func builder() {
        let verbose = false
        let stack = Stack {
            Tag(value: "1")
            if verbose { Tag(value: "2") }
            for value in ["3", "4"] { Tag(value: value) }
            Stack([Tag(value: "5")])
        }
        #expect(stack.gates.map { ($0 as? Tag)?.value } == ["1", "3", "4", "5"])
        #expect(stack.description.hasPrefix("1. Tag"))
        #expect((stack + [Tag(value: "6")]).gates.count == 5)
    }
    @Test("A property `name` of a gate is not the gate's name, and is in no trace")
    func propertyName() async throws {
        struct Signer: Interceptor {
            let name: String

            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                context.report("signed", by: gateName)
                return try await next(request)
            }
        }
        let traces = TraceStore()
        let client = Client(
            transport: MockTransport { _ in .ok() }, stack: [Signer(name: "planted-secret")],
            serializers: SerializerTable(), trace: traces)
        _ = try await client.get(anywhere).serialize(with: Text())
        #expect(client.stack.description == "1. Signer")
        let trace = try #require(traces.traces.first)
        #expect(!"\(trace.spans)".contains("planted-secret"))
    }
}
