// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("Cookbook: operation")
struct OperationRecipeTests {
    @Test("A line for each call, with names that were added, and without secrets")
    func log() async throws {
        let sink = MemoryLogSink()
        let transport = MockTransport { _ in .ok() }
        let client = makeLoggedClient(sink, transport)
        try await client.get(
            "orders", query: ["email": "ada@example.com", "page": 2],
            headers: ["Authorization": "Bearer s3cret", "X-Customer": "ada"]
        ).empty()
        let line = try #require(sink.lines.last)
        #expect(sink.lines.count == 1 && line.contains("page=2"))
        for secret in ["s3cret", "ada"] { #expect(!line.contains(secret), "\(line)") }
        _ = try JSONValue(parsing: line)
    }

    @Test("Figures of calls and gates are on one page")
    func metrics() async throws {
        let store = MetricsStore()
        let client = makeMeasuredClient(store, MockTransport { _ in .ok() })
        try await client.get("orders/1").empty()
        let page = metricsPage(store)
        #expect(page.contains("http_client_request_duration_seconds_count"))
        #expect(page.contains("turnpike_"))
    }

    @Test("A call carries the trace and the ID of the request that caused it")
    func traces() async throws {
        let transport = MockTransport { _ in .ok(json: [:]) }
        let client = makeTracedClient(transport)
        let trace = "0af7651916cd43dd8448eb211c80319c"
        _ = try await handle(
            ["traceparent": "00-\(trace)-b7ad6b7169203331-01", "X-Request-ID": "r1"], client)
        _ = try await handle([:], client)
        let sent = transport.sent.map(\.request.headers)
        #expect(sent[0][.traceparent]?.contains(trace) == true && sent[0]["X-Request-ID"] == "r1")
        #expect(sent[0][.traceparent]?.contains("b7ad6b7169203331") == false)
        #expect(sent[1][.traceparent]?.contains(trace) == false)
        #expect(sent[1]["X-Request-ID"] != nil)
    }
}
