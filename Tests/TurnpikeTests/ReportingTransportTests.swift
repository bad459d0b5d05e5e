// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeStackFiles
import TurnpikeTesting

/// A transport as somebody else would write it: it answers by itself and reports what it does.
private struct Reporting: Transport {
    let capabilities: TransportCapabilities = [.phaseTimes]
    // Asked for each send with its number, and what it does before it answers.
    var onSend: @Sendable (Int, Context) async throws -> Void = { _, _ in }

    func send(_ request: Request, context: Context) async throws -> Response {
        let begin = context.timeSource.now
        try await onSend(context.sendCount, context)
        var sent: Int64 = 0
        if !request.body.isEmpty {
            let reader = try request.body.open()
            while let chunk = try await reader.next() {
                sent += Int64(chunk.count)
                context.report(.sent(bytes: sent))
            }
        }
        context.report(
            .resolved(at: begin),
            .connected(
                at: begin.advanced(by: .milliseconds(1)), isReused: false, peer: "192.0.2.7"),
            .secured(at: begin.advanced(by: .milliseconds(2))))
        context.report(.ready(at: begin.advanced(by: .milliseconds(3))))
        context.report(.firstByte(at: begin.advanced(by: .milliseconds(4))))
        return Response(to: request, status: 200, body: ResponseBody(Data("x".utf8)))
    }

    func shutdown() async {}
}

@Suite("A transport of somebody else's")
struct ReportingTransportTests {
    private func client(_ transport: any Transport, _ stack: Stack = []) -> Client {
        Client(
            transport: transport, stack: stack, serializers: .standard, timeSource: ManualClock())
    }

    @Test("Its phase times are in the timeline")
    func phaseTimes() async throws {
        let response = try await client(Reporting()).get("https://a.example/").response()
        let times = response.timeline
        let sent = try #require(times.sent)
        #expect(times.resolved == sent)
        #expect(times.connected == sent.advanced(by: .milliseconds(1)))
        #expect(times.secured == sent.advanced(by: .milliseconds(2)))
        #expect(times.ready == sent.advanced(by: .milliseconds(3)))
        #expect(times.firstByte == sent.advanced(by: .milliseconds(4)))
        #expect(times.isConnectionReused == false)
        #expect(times.peerAddress == "192.0.2.7")
    }

    @Test("The bytes that it reports are the upload's progress")
    func progress() async throws {
        let chunks = [Data("abc".utf8), Data("de".utf8)]
        let body = RequestBody.stream(length: 5) {
            AsyncStream<Data> { continuation in
                for chunk in chunks { continuation.yield(chunk) }
                continuation.finish()
            }
        }
        let running = client(Reporting()).post("https://a.example/", body: body)
            .start(DataSerializer())
        var last: TransferProgress?
        for await progress in running.progress { last = progress }
        #expect(last?.bytesSent == 5)
        #expect(last?.totalToSend == 5)
        #expect(running.timeline.bodyBytesSent == 5)
    }

    @Test("A late report of an abandoned attempt does not change the times of the next one")
    func lateReport() async throws {
        let first = Mutex<Context?>(nil)
        let transport = Reporting { number, context in
            if number == 1 {
                first.withLock { $0 = context }
                throw ClientError(.connection, "gone", transfer: .init(.connecting))
            }
            first.withLock { $0 }?.report(.sent(bytes: 99))
        }
        let response = try await client(
            transport, [.retry(attempts: 2, backoff: Backoff(base: .zero))]
        ).get("https://a.example/").response()
        #expect(response.attempts == 2)
        #expect(response.timeline.bodyBytesSent == 0)
    }
}

private enum TraceSpan: ContextKey {
    static var defaultValue: String? { nil }
}

private enum AttemptNote: ContextKey {
    static var defaultValue: Int? { nil }
    static var scope: ContextScope { .attempt }
}

/// A gate that begins a span, as a bridge to a tracing system would.
private struct Spans: Interceptor {
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        context[TraceSpan.self] = "span of \(request.url.path)"
        context[AttemptNote.self] = context.attempt
        return try await next(request)
    }
}

/// A logger that finds what the gate put in the context.
private final class Bridge: RequestLogger {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func log(_ event: CallEvent) {
        let kind: String
        switch event.kind {
        case .began: kind = "began"
        case .sent: kind = "sent"
        case .responded: kind = "responded"
        case .bodyEnded: kind = "bodyEnded"
        default: return
        }
        let attempt = event[AttemptNote.self].map(String.init) ?? "none"
        lines.withLock { $0.append("\(kind): \(event[TraceSpan.self] ?? "none"), \(attempt)") }
    }
}

@Suite("Values of a call in its events")
struct CallEventValueTests {
    @Test("A logger can read them, also when the body has ended")
    func values() async throws {
        let bridge = Bridge()
        let client = Client(
            transport: MockTransport { _ in .ok(text: "x") }, stack: [bridge, Spans()],
            serializers: .standard)
        let response = try await client.get("https://a.example/users").response()
        #expect(bridge.all.last == "responded: span of /users, 1")
        #expect(try await response.body.collect(upTo: 10) == Data("x".utf8))
        #expect(
            bridge.all == [
                "began: none, none", "sent: span of /users, 1", "responded: span of /users, 1",
                "bodyEnded: span of /users, 1",
            ])
    }
}

@Suite("Faults that keep a client from sending")
struct ClientFaultTests {
    private struct NoRole: Gate {}

    private struct Counting: SynchronousRequestAdapter {
        let count: Counter
        func adapt(_ request: inout Request, context: Context) { count.value.withLock { $0 += 1 } }
    }

    private final class Counter: Sendable { let value = Mutex(0) }

    @Test("A gate without a role is reported when the client is created, and no gate runs")
    func gateWithoutRole() async throws {
        let count = Counter()
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport: transport, stack: [Counting(count: count), NoRole()],
            serializers: .standard)
        #expect(client.fault?.code == .configuration)
        #expect(client.fault?.message.contains("NoRole") == true)
        let error = await #expect(throws: ClientError.self) {
            try await client.get("https://a.example/").response()
        }
        #expect(error?.code == .configuration)
        #expect(count.value.withLock { $0 } == 0)
        client.replace(stack: [Counting(count: count)])
        #expect(client.fault == nil)
        #expect(try await client.get("https://a.example/").response().status == 200)
    }

    @Test("An invalid base URL is reported too")
    func baseURL() {
        let client = Client(
            baseURL: "http://a b/", transport: MockTransport { _ in .ok() }, stack: [],
            serializers: .standard)
        #expect(client.fault?.code == .invalidRequest)
    }

    @Test("A stack file with such a gate is refused")
    func stackFile() throws {
        var registry = Registry.standard
        registry.register(gate: "idle") { _ in NoRole() }
        registry.register(transport: "mock") { _ in MockTransport { _ in .ok() } }
        let text = #"{"transport":{"use":"mock"},"stack":["idle"]}"#
        let file = try StackFile(parsing: Data(text.utf8))
        let error = #expect(throws: ClientError.self) {
            try ConfiguredClient(file, registry: registry, serializers: .standard)
        }
        #expect(error?.code == .configuration)
    }
}
