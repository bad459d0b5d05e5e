// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

/// Repeats a call once after a second if it has failed.
private struct Again: RequestRetrier {
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        outcome.attempts == 1 && (outcome.error != nil || outcome.status?.code == 503)
            ? .retry(after: .seconds(1)) : .stop
    }
}

private struct Stamp: SynchronousRequestAdapter {
    func adapt(_ request: inout Request, context: Context) { request.headers["X-Stamp"] = "1" }
}

extension Trace {
    /// The spans as an outline: the name, when it began and how long it took in milliseconds, and how
    /// it ended.
    var outline: [String] {
        var depths: [Int] = []
        return spans.map { span in
            depths.append(span.parent.map { depths[$0] + 1 } ?? 0)
            let times = "\(span.start / .milliseconds(1)) +\(span.length)"
            let indent = String(repeating: "  ", count: depths[span.id])
            return "\(indent)\(span.name) \(times) \(span.end)"
        }
    }
}

extension TraceSpan {
    fileprivate var length: String { duration.map { "\($0 / .milliseconds(1))" } ?? "?" }

    fileprivate var end: String {
        switch outcome {
        case nil: "under way"
        case .returned(let status): status.map { "\($0.code)" } ?? "ok"
        case .failed(let label, _): label
        case .cancelled: "cancelled"
        case .dropped: "dropped"
        }
    }
}

@Suite("Trace")
struct TraceTests {
    private func client(
        _ simulation: Simulation, _ answers: [MockResponse], _ gates: [any Gate],
        trace: (any CallReader)? = nil
    ) -> Client {
        Client(
            transport: MockTransport([MockStub(answers) { _ in true }]), stack: Stack(gates),
            serializers: SerializerTable(), trace: trace, timeSource: simulation.clock,
            randomSource: simulation.random)
    }

    @Test("A call that is tried again shows its gates, attempts, waits and exchanges")
    func outline() async throws {
        let trace = try await Simulation(seed: 1).run { simulation async throws -> Trace? in
            let client = client(
                simulation,
                [
                    .status(503).delayed(by: .milliseconds(200)),
                    .stream([Data("a".utf8), Data("b".utf8)], every: .milliseconds(50)),
                ],
                [
                    Around { try await $2($0) }, Again(), Stamp(),
                    Around { request, context, next in
                        try await context.sleep(for: .milliseconds(10))
                        return try await next(request)
                    },
                ])
            let call = client.get(anywhere).traced()
            #expect(call.trace == nil)
            #expect(try await call.serialize(with: Text()) == "ab")
            return call.trace
        }
        #expect(
            trace?.outline == [
                "GET /x 0.0 +1370.0 200",
                "  Around 0.0 +1370.0 200",
                "    Again 0.0 +1370.0 200",
                "      attempt 1 0.0 +210.0 503",
                "        Stamp 0.0 +0.0 ok",
                "        Around 0.0 +210.0 503",
                "          sleep 0.0 +10.0 ok",
                "          GET /x 10.0 +200.0 503",
                "            head 10.0 +200.0 ok",
                "            body 210.0 +0.0 503",
                "      back-off 210.0 +1000.0 ok",
                "      attempt 2 1210.0 +160.0 200",
                "        Stamp 1210.0 +0.0 ok",
                "        Around 1210.0 +160.0 200",
                "          sleep 1210.0 +10.0 ok",
                "          GET /x 1220.0 +150.0 200",
                "            head 1220.0 +0.0 ok",
                "            body 1220.0 +150.0 200",
            ])
        #expect(trace?.isComplete == true)
        #expect(trace?.omitted == 0)
        let exchange = try #require(trace?.spans.last { $0.kind == .exchange }?.exchange)
        #expect(exchange.requestHeaders["X-Stamp"] == "1")
        #expect(exchange.bytesReceived == 2)
        #expect(exchange.chunks.map(\.count) == [1, 1])
        #expect(exchange.chunks.map(\.start) == [.milliseconds(1270), .milliseconds(1320)])
    }

    @Test("A call that fails has its trace, with what each gate threw")
    func failure() async throws {
        let trace = try await Simulation(seed: 1).run { simulation async throws -> Trace? in
            let client = client(
                simulation, [.connectionRefused, .connectionLost], [Again()])
            let call = client.get(anywhere).traced()
            await expectError(.connection) { try await call.response() }
            return call.trace
        }
        #expect(
            trace?.outline == [
                "GET /x 0.0 +1000.0 connection",
                "  Again 0.0 +1000.0 connection",
                "    attempt 1 0.0 +0.0 connection",
                "      GET /x 0.0 +0.0 connection",
                "    back-off 0.0 +1000.0 ok",
                "    attempt 2 1000.0 +0.0 connection",
                "      GET /x 1000.0 +0.0 connection",
            ])
        guard case .failed(_, let text) = trace?.spans[0].outcome else {
            Issue.record("the call has not failed")
            return
        }
        #expect(text.contains("[2 attempts: "))
    }

    @Test("A call that the client refuses, or whose stack has a fault, sends nothing")
    func refused() async throws {
        struct Idle: Gate {}
        let client = Client(MockTransport { _ in .ok() }, Idle())
        let call = client.get(anywhere).traced()
        await expectError(.configuration) { try await call.response() }
        #expect(call.trace?.outline == ["GET /x 0.0 +0.0 configuration"])
        await client.shutdown()
        let late = client.get(anywhere).traced()
        await expectError(.cancelled) { try await late.response() }
        #expect(late.trace == nil)
    }

    @Test("The body is part of the trace after the response was returned")
    func body() async throws {
        let clock = ManualClock()
        let client = Client(
            MockTransport { _ in .stream([Data("a".utf8)]) }, clock: clock,
            Around { try await $2($0) })
        let call = client.get(anywhere).traced()
        let response = try await call.response()
        clock.advance(by: .milliseconds(5))
        let before = try #require(call.trace)
        #expect(!before.isComplete)
        #expect(
            before.outline == [
                "GET /x 0.0 +? under way", "  Around 0.0 +? under way",
                "    GET /x 0.0 +? under way", "      head 0.0 +0.0 ok",
                "      body 0.0 +? under way",
            ])
        #expect(before.ownTime(of: before.spans[0]) == nil)
        _ = try await response.body.collect(upTo: 100)
        let after = try #require(call.trace)
        #expect(after.isComplete)
        #expect(after.outline.first == "GET /x 0.0 +5.0 200")
        #expect(after.ownTime(of: after.spans[0]) == .zero)
        #expect(after.spans.last?.duration == .milliseconds(5))
        clock.advance(by: .seconds(1))
        #expect(call.trace == after)
    }

    @Test("A response that is released unread is dropped, and ends the call")
    func dropped() async throws {
        let client = Client(MockTransport { _ in .stream([Data("a".utf8)]) })
        let call = client.get(anywhere).traced()
        _ = try await call.response()
        #expect(call.trace?.outline.first == "GET /x 0.0 +0.0 dropped")
        #expect(call.trace?.isComplete == true)
    }

    @Test("The time to make a value is the call's own")
    func value() async throws {
        struct Slow: ContentSerializer {
            let clock: ManualClock
            func serialize(_ content: Data, of head: ResponseHead) -> Int {
                clock.advance(by: .milliseconds(30))
                return content.count
            }
        }
        let clock = ManualClock()
        let client = Client(MockTransport { _ in .ok(text: "abc") }, clock: clock)
        let call = client.get(anywhere).traced()
        #expect(try await call.serialize(with: Slow(clock: clock)) == 3)
        let trace = try #require(call.trace)
        #expect(trace.ownTime(of: trace.spans[0]) == .milliseconds(30))
        #expect(trace.spans[1].duration == .zero)
    }

    @Test("The phases are those that the exchange's own transport reports")
    func phases() async throws {
        let clock = ManualClock()
        let transport = Scripted { request, context in
            let begin = context.timeSource.now
            context.report(
                .resolved(at: begin.advanced(by: .milliseconds(1))),
                .connected(
                    at: begin.advanced(by: .milliseconds(3)), isReused: false, peer: "192.0.2.1"),
                .secured(at: begin.advanced(by: .milliseconds(6))))
            clock.advance(by: .milliseconds(8))
            context.report(.sent(bytes: 7))
            clock.advance(by: .milliseconds(2))
            // Another clock may be ahead by a little.
            context.report(.firstByte(at: begin.advanced(by: .milliseconds(11))))
            return Response(to: request, status: 200, headers: ["A": "b"])
        }
        let call = Client(transport, clock: clock).post(anywhere, body: .text("content")).traced()
        _ = try await call.response()
        #expect(
            call.trace?.outline == [
                "POST /x 0.0 +10.0 200", "  POST /x 0.0 +10.0 200", "    DNS 0.0 +1.0 ok",
                "    connect 1.0 +2.0 ok", "    TLS 3.0 +3.0 ok", "    request sent 6.0 +2.0 ok",
                "    first byte 8.0 +2.0 ok", "    head 10.0 +0.0 ok", "    body 10.0 +0.0 200",
            ])
        let exchange = try #require(call.trace?.spans[1].exchange)
        #expect(exchange.peerAddress == "192.0.2.1")
        #expect(exchange.isConnectionReused == false)
        #expect(exchange.bytesSent == 7)
        #expect(exchange.requestBodyBytes == 7)
        #expect(exchange.responseHeaders == ["A": "b"])
    }

    @Test("A clock that stands still gives a trace in order")
    func standingClock() async throws {
        let client = Client(MockTransport { _ in .ok(text: "a") }, Again(), Stamp())
        let call = client.get(anywhere).traced()
        _ = try await call.serialize(with: Text())
        let trace = try #require(call.trace)
        #expect(trace.spans.allSatisfy { $0.duration == .zero && $0.start == .zero })
        #expect(trace.spans.map(\.id) == Array(trace.spans.indices))
        #expect(
            trace.spans.dropFirst().allSatisfy { $0.parent.map { $0 < trace.spans.count } == true })
        #expect(
            trace.spans.map(\.name) == [
                "GET /x", "Again", "attempt 1", "Stamp", "GET /x", "head", "body",
            ])
    }
}

/// A transport that is a closure.
struct Scripted: Transport {
    let capabilities = TransportCapabilities(rawValue: .max)
    private let answer: @Sendable (Request, Context) async throws -> Response

    init(_ answer: @escaping @Sendable (Request, Context) async throws -> Response) {
        self.answer = answer
    }

    func send(_ request: Request, context: Context) async throws -> Response {
        try await answer(request, context)
    }

    func shutdown() async {}
}
