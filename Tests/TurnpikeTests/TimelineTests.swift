// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

/// A transport that passes through all phases on a clock, and fails as often as it is told to.
private struct Phased: Transport {
    let capabilities: TransportCapabilities = [.phaseTimes]
    let clock: ManualClock
    var isReused = false
    var failures = 0

    func send(_ request: Request, context: Context) async throws -> Response {
        func pass(_ microseconds: Int64) -> MonotonicInstant {
            clock.advance(by: .microseconds(microseconds))
            return context.timeSource.now
        }
        if context.sendCount <= failures {
            _ = pass(3_000_000)
            throw ClientError(.connection, "gone", transfer: TransferState(.connecting))
        }
        context.report(.resolved(at: pass(1200)))
        context.report(.connected(at: pass(10_500), isReused: isReused, peer: "192.0.2.7"))
        if !isReused { context.report(.secured(at: pass(12_000))) }
        context.report(.ready(at: pass(100)))
        context.report(.firstByte(at: pass(20_000)))
        _ = pass(300)
        return Response(to: request, status: 200, body: ResponseBody(Data("x".utf8)))
    }

    func shutdown() async {}
}

@Suite("The timeline of a call")
struct TimelineTests {
    private let clock = ManualClock()

    private func response(_ transport: any Transport, _ stack: Stack = []) async throws -> Response
    {
        let client = Client(transport: transport, stack: stack, timeSource: clock)
        let response = try await client.get("https://a.example/").response()
        clock.advance(by: .milliseconds(5))
        _ = try await response.body.collect(upTo: 10)
        return response
    }

    @Test("It prints how long each phase took, and not when")
    func new() async throws {
        let timeline = try await response(Phased(clock: clock)).timeline
        #expect(
            "\(timeline)" == "DNS 1.2 ms, connect 10.5 ms, TLS 12 ms, first byte 20.1 ms,"
                + " head 300 µs, body 5 ms, total 49.1 ms")
        #expect(timeline.resolutionDuration == .microseconds(1200))
        #expect(timeline.connectDuration == .microseconds(10_500))
        #expect(timeline.tlsDuration == .milliseconds(12))
        #expect(timeline.firstByteDuration == .microseconds(20_100))
        #expect(timeline.headDuration == .microseconds(300))
        #expect(timeline.bodyDuration == .milliseconds(5))
        #expect(timeline.totalDuration == .microseconds(49_100))
    }

    @Test("A reused connection has no handshakes")
    func reused() async throws {
        let timeline = try await response(Phased(clock: clock, isReused: true)).timeline
        #expect(
            "\(timeline)" == "connection reused, connect 11.7 ms, first byte 20.1 ms, head 300 µs,"
                + " body 5 ms, total 37.1 ms")
        #expect(timeline.resolutionDuration == nil && timeline.tlsDuration == nil)
    }

    @Test("What was before the last exchange is told apart from it")
    func retried() async throws {
        let timeline = try await response(
            Phased(clock: clock, failures: 1),
            [.retry(attempts: 2, backoff: Backoff(base: .zero))]
        ).timeline
        #expect(timeline.preparationDuration == .seconds(3))
        #expect("\(timeline)".hasPrefix("before 3 s, DNS 1.2 ms, connect"))
        #expect("\(timeline)".hasSuffix("total 3.05 s"))
    }

    @Test("Without phase times it prints what is known")
    func unknown() async throws {
        let transport = MockTransport { _ in .ok(text: "x") }
        let timeline = try await response(transport).timeline
        #expect("\(timeline)" == "head 0 s, body 5 ms, total 5 ms")
        let client = Client(transport: transport, stack: [], timeSource: clock)
        let running = client.get("https://a.example/").start(DataSerializer())
        _ = try await running.value
        #expect("\(running.timeline)".contains("value 0 s, total 0 s"))
    }

    @Test("A log prints the same durations", arguments: [Log.Format.text, .json])
    func log(format: Log.Format) async throws {
        let sink = MemoryLogSink()
        _ = try await response(
            Phased(clock: clock), [.log(to: sink, level: .debug, format: format)])
        let line = try #require(sink.lines.last)
        if format == .text {
            #expect(
                line.hasSuffix(
                    " | 192.0.2.7, new, DNS 1.2 ms, connect 10.5 ms, TLS 12 ms, first byte 20.1 ms,"
                        + " head 300 µs, body 5 ms"))
        } else {
            let times = try JSONValue(parsing: Data(line.utf8))["times"]
            let expected: JSONValue = [
                "dns": 0.0012, "connect": 0.0105, "tls": 0.012, "firstByte": 0.0201,
                "head": 0.0003, "body": 0.005,
            ]
            #expect(times == expected)
        }
    }
}
