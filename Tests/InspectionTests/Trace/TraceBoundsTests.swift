// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("Bounds of a trace")
struct TraceBoundsTests {
    private static let limit = 65_536

    /// Chunks without an end, a second apart.
    private final class Endless: ResponseBodySource {
        private let clock: ManualClock

        init(_ clock: ManualClock) { self.clock = clock }

        func next() async throws -> Data? {
            clock.advance(by: .seconds(1))
            return Data(repeating: 0x61, count: 100)
        }

        func cancel(_ reason: CancelReason) {}
    }

    @Test("An endless stream is under way within the bounds, and its buckets grow with their age")
    func endless() async throws {
        let clock = ManualClock()
        let store = TraceStore()
        let client = Client(
            transport: Scripted { request, _ in
                Response(to: request, status: 200, body: ResponseBody(source: Endless(clock)))
            }, stack: Stack(), serializers: SerializerTable(), trace: store, timeSource: clock)
        var response: Response? = try await client.get(anywhere).response()
        var chunks = try #require(response?.body.makeAsyncIterator())
        for _ in 0..<10_000 { _ = try await chunks.next() }
        let trace = try #require(store.traces.first)
        #expect(!trace.isComplete)
        #expect(trace.byteCount < Self.limit)
        let exchange = try #require(trace.spans[1].exchange)
        #expect(exchange.bytesReceived == 1_000_000)
        #expect(exchange.chunks.count <= 32)
        #expect(exchange.chunks.reduce(0) { $0 + $1.count } == 10_000)
        #expect(exchange.chunks.reduce(0) { $0 + $1.bytes } == 1_000_000)
        #expect(exchange.chunks.last?.count == 1)
        for (before, after) in zip(exchange.chunks, exchange.chunks.dropFirst()) {
            #expect(before.count >= after.count)
            #expect(before.start <= before.end && before.end < after.start)
        }
        response = nil
        chunks = ResponseBody.empty.makeAsyncIterator()
        #expect(store.traces.map(\.isComplete) == [true])
    }

    @Test(
        "Buckets are never more than their limit, whatever was read",
        arguments: [1, 2, 5, 17, 60, 150])
    func buckets(count: Int) {
        var buckets = ChunkBuckets()
        for number in 1...(count * count) {
            buckets.add(number, at: MonotonicInstant(nanoseconds: Int64(number)))
        }
        let total = Int64(count * count)
        #expect(buckets.buckets.count <= ChunkBuckets.limit)
        #expect(buckets.buckets.reduce(0) { $0 + $1.bytes } == total * (total + 1) / 2)
        #expect(buckets.buckets.reduce(0) { $0 + Int64($1.count) } == total)
        #expect(buckets.merged(upTo: 3).count <= 3)
        #expect(buckets.merged(upTo: 0).count == 1)
    }

    @Test("A call with many exchanges, long heads and long errors keeps within the bounds")
    func worst() async throws {
        let clock = ManualClock()
        let long = String(repeating: "kept ", count: 400)
        let transport = Scripted { request, context in
            context.report(
                .resolved(at: clock.now), .connected(at: clock.now, isReused: false, peer: "::1"),
                .secured(at: clock.now), .sent(bytes: 1), .firstByte(at: clock.now))
            let headers = HTTPHeaders((0..<40).map { ("X-Field-\($0)", long) })
            if context.attempt % 3 == 0 {
                throw ClientError(.connection, "\(context.attempt) " + long)
            }
            return Response(
                to: request, status: 200, headers: headers,
                body: ResponseBody(source: Endless(clock)))
        }
        // Not counted as sends, but as redirects, which have a limit of their own.
        let client = Client(
            transport, clock: clock,
            Around { request, context, next in
                for number in 0..<400 {
                    let path = "\(number)/" + String(repeating: "p", count: 3000)
                    var request = Request(.get, Target("http://a.example/" + path))
                    context.call.record.add(Hop(status: 302, url: request.url))
                    request.headers["X-Long"] = long
                    await context.report(waitingFor: "wait \(number) " + long) { _ in }
                    let response = try? await next.attempt(request)
                    _ = try? await response?.body.collect(upTo: 1000)
                }
                return try await next(request)
            })
        let call = client.get(anywhere).traced()
        _ = try? await call.response()
        let trace = try #require(call.trace)
        #expect(trace.isComplete)
        #expect(trace.byteCount < Self.limit, "\(trace.byteCount)")
        #expect(trace.spans.count <= TurnpikeInspection.TraceBuilder.maxSpans)
        #expect(trace.omitted > 1000)
        #expect(trace.spans.dropFirst().allSatisfy { $0.parent != nil })
    }

    @Test("A head that is long is cut by values first, then by fields")
    func heads() async throws {
        func exchange(_ fields: Int, _ length: Int) async throws -> TraceExchange? {
            let value = String(repeating: "v ", count: length / 2) + "end"
            let headers = HTTPHeaders((0..<fields).map { ("X-\($0)", value) })
            let client = Client(MockTransport { _ in .status(200, headers: headers) })
            let call = client.get(anywhere).traced()
            _ = try await call.response()
            return call.trace?.spans.first { $0.kind == .exchange }?.exchange
        }
        let short = try await exchange(10, 100)?.responseHeaders
        #expect(short?.count == 10 && short?["X-9"]?.hasSuffix("end") == true)
        let cut = try await exchange(10, 1000)?.responseHeaders
        #expect(cut?.count == 10)
        #expect(cut?["X-9"]?.hasSuffix("v … (1003 bytes)") == true, "\(cut?["X-9"] ?? "")")
        let many = try await exchange(100, 100)?.responseHeaders
        #expect(many.map { (10..<100).contains($0.count) } == true)
    }
}
