// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting

@Suite("Reading a trace")
struct ReadingATraceExamples {
    private let base: Target = "http://a.example/"
    private let transport = MockTransport([
        .any(.ok(json: ["id": 1]), .failure(ClientError(.tooLarge, "too large")))
    ])

    @Test("A call that is traced has a waterfall, whether it succeeds or fails")
    func one() async throws {
        let client = Client(baseURL: base, transport: transport, stack: [.retry(attempts: 2)])
        func shown() async -> Trace? {
            let call = client.get("users/1").traced()
            let user = try? await call.json()
            if let trace = call.trace { print(trace.waterfall(width: 90)) }
            #expect((user == nil) == (call.trace?.waterfall().contains("✗") == true))
            return call.trace
        }
        let text = try #require(await shown()).waterfall()
        #expect(text.contains("GET /users/1") && text.contains("  Retry"))
        #expect(try #require(await shown()).waterfall().contains("✗"))
    }

    @Test("The traces of a store become files")
    func files() async throws {
        let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
        let client = Client(baseURL: base, transport: transport, trace: traces)
        try await client.get("users/1").empty()

        let page = traces.traces.html(title: "Slow calls")  // for a browser
        let har = traces.traces.har().data()  // for the developer tools of a browser
        let spans = traces.traces.otlp(service: "shop").data()  // for an OpenTelemetry collector
        let picture = traces.traces.first?.svg()  // for a ticket
        let json = traces.traces.map { $0.json() }  // for a program
        #expect(page.contains("<title>Slow calls</title>"))
        #expect(try JSONValue(parsing: har)["log"]?["version"] == "1.2")
        #expect(try JSONValue(parsing: spans)["resourceSpans"] != nil)
        #expect((picture == nil) == json.isEmpty)
        await client.shutdown()
    }

    @Test("A store can be looked at while it fills")
    func served() async throws {
        let traces = TraceStore()
        let server = try TraceServer(traces)
        print(server.url)  // only for this machine, with a random token
        let reader = Client()
        let address = Target(server.url)
        #expect(try await reader.get(address).string().contains("role=\"treegrid\""))
        await reader.shutdown()
        server.stop()
    }
}
