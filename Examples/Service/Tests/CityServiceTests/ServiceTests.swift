// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// One run of the service, from its start to its end under load.
@Suite("The service")
final class ServiceTests {
    private let service: ServiceProcess

    init() throws { service = try ServiceProcess() }

    @Test(
        "It loses no answer, while upstreams fail, its configuration changes, and it ends",
        .timeLimit(.minutes(15)))
    func run() async throws {
        try configure("", agent: "cities/1")
        let caller = try Caller(try await service.start())

        // Without faults, a trace leads from the edge to the upstreams.
        let id = "0af7651916cd43dd8448eb211c80319c"
        let traceparent = "00-\(id)-b7ad6b7169203331-01"
        let first = await caller.city(
            "traced", deadline: .seconds(30), traceparent: traceparent)
        #expect(first == 200)
        var spans = try await ended(id, caller)
        try expectOneTrace(spans)
        #expect(agents(spans) == ["cities/1"])
        try expectRequestID(of: "traced")

        // The upstreams begin to fail under load, and the clients get a new stack.
        async let load: Void = caller.cities(3000)
        try configure(Self.failing, agent: "cities/2")
        try await reload("done", 2, caller)
        // After a mistake the old stack stays in use, and the log names the mistake.
        try configure(Self.failing, agent: "cities/mistake", gates: #""retyr","#)
        try await reload("failed", 2, caller)
        #expect(service.log.contains(#"there is no gate "retyr""#))
        await load
        await caller.cities(2000, named: "late")
        #expect(caller.count.cities.values.reduce(0, +) == 5001)
        #expect(caller.count.cities[200, default: 0] > 0)

        // The new stack is in use. The metrics add up when nothing is running.
        try configure("", agent: "cities/3")
        try await reload("done", 4, caller)
        try await until("a city is served again") {
            await caller.city("again", traceparent: traceparent.replacing("0af", with: "1af"))
                == 200
        }
        spans = try await ended(id.replacing("0af", with: "1af"), caller)
        #expect(agents(spans) == ["cities/3"])
        try await expectSums(caller)

        // The deadline of a caller applies, although the upstreams hang.
        try configure(#""hanging": 1.0"#, agent: "cities/4")
        try await reload("done", 6, caller)
        for number in 0..<3 {
            let status = await caller.city("hanging-\(number)", deadline: .milliseconds(500))
            #expect(status == 504)
        }

        // The service ends under load, and finishes each answer that it has begun.
        try configure(Self.failing, agent: "cities/5")
        try await reload("done", 8, caller)
        #expect(caller.count.failures.isEmpty, "\(caller.count.failures)")
        let before = caller.count.answers
        async let last: Void = caller.cities(.max, named: "last")
        try await until("the load has begun") { caller.count.answers > before + 100 }
        service.signal(SIGTERM)
        #expect(try await service.end() == 0, "\(service.log.suffix(2000))")
        await last
        await caller.close()

        let count = caller.count
        #expect(service.output.contains("answered \(count.answers) requests"), "\(service.output)")
        #expect(count.late.isEmpty, "\(count.late)")
        // The clients ended after the server, which needs them.
        #expect(count.cancelled == 0)
        #expect(Set(count.cities.keys).isSubset(of: [200, 502, 503, 504]), "\(count.cities)")
    }

    // MARK: Configuration

    /// Writes the shipped file with other faults, and with a user agent by which the upstreams see
    /// which stack is in use.
    private func configure(_ faults: String, agent: String, gates: String? = nil) throws {
        let shipped = URL(filePath: #filePath).resolvingSymlinksInPath()
            .appending(path: "../../../service.json")
        var text = try String(contentsOf: shipped.standardizedFileURL, encoding: .utf8)
            .replacing(/"upstreams": {[^}]*}/, with: #""upstreams": {\#(faults)}"#)
            .replacing(/"cities\/[^"]*"/, with: "\"\(agent)\"")
            .replacing(#""port": 8080"#, with: #""port": 0"#)
            // Without the caller's deadline, a call could take half a minute.
            .replacing(#""deadline": {"seconds": 2}"#, with: #""deadline": {"seconds": 60}"#)
            .replacing(
                #""attemptTimeout": {"seconds": 1}"#, with: #""attemptTimeout": {"seconds": 30}"#)
        if let gates { text.replace(#""retry","#, with: gates) }
        try service.write("service.json", text)
    }

    private static let failing = #""failing": 0.2, "slow": 0.1, "torn": 0.1, "hanging": 0.01"#

    /// Sends SIGHUP until both clients together have counted an outcome so many times.
    private func reload(_ outcome: String, _ count: Int, _ caller: Caller) async throws {
        try await until("\(count) reloads: \(outcome)") {
            service.signal(SIGHUP)
            return try await self.reloads(outcome, caller) == count
        }
    }

    private func reloads(_ outcome: String, _ caller: Caller) async throws -> Int {
        try await caller.figures().sum("config_reloads_total", #"outcome="\#(outcome)""#)
    }

    // MARK: What must hold

    /// Returns the spans of a trace after all of them have ended.
    private func ended(_ id: String, _ caller: Caller) async throws -> [Caller.Span] {
        var spans: [Caller.Span] = []
        try await until("all spans of the trace end") {
            spans = try await caller.trace(id)
            return !spans.isEmpty && spans.allSatisfy { $0.milliseconds != nil }
        }
        return spans
    }

    /// Each span has its parent, from the edge over calls and attempts to the upstreams.
    private func expectOneTrace(_ spans: [Caller.Span]) throws {
        let byID = Dictionary(uniqueKeysWithValues: spans.map { ($0.span, $0) })
        func route(_ span: Caller.Span) -> String { span.attributes["http.route"] ?? "" }
        for upstream in ["/weather/{city}", "/places/{city}"] {
            let server = try #require(spans.first { route($0) == upstream })
            let attempt = try #require(server.parent.flatMap { byID[$0] })
            #expect(attempt.kind == "client")
            let call = try #require(attempt.parent.flatMap { byID[$0] })
            #expect(call.kind == "internal")
            let edge = try #require(call.parent.flatMap { byID[$0] })
            #expect(edge.kind == "server" && route(edge) == "/cities/{name}")
            #expect(edge.parent == "b7ad6b7169203331")
        }
        #expect(
            spans.allSatisfy { $0.parent == "b7ad6b7169203331" || byID[$0.parent ?? ""] != nil })
    }

    /// The user agents that the upstreams saw in a trace.
    private func agents(_ spans: [Caller.Span]) -> Set<String> {
        Set(
            spans.filter { $0.kind == "server" && $0.attributes["http.route"] != "/cities/{name}" }
                .compactMap { $0.attributes["user_agent.original"] })
    }

    /// The log lines of the clients contain the ID of the request for which they work.
    private func expectRequestID(of city: String) throws {
        let lines = service.log.split(separator: "\n")
        let request = try #require(lines.first { $0.contains("hb.request.path=/cities/\(city)") })
        let id = try #require(request.firstMatch(of: /hb\.request\.id=(\w+)/)).1
        for upstream in ["weather", "places"] {
            #expect(
                lines.contains {
                    $0.contains("hb.request.id=\(id)") && $0.contains("/\(upstream)/\(city)")
                })
        }
    }

    private func expectSums(_ caller: Caller) async throws {
        // A figure is counted after its answer was written, so the last figures may come late.
        var figures = try await caller.figures()
        try await until("nothing is under way, and each answer is counted") {
            figures = try await caller.figures()
            return figures.sum("http_client_active_requests") == 0
                && figures.sum("hb_requests_total", "/cities/")
                    >= caller.count.cities.values.reduce(0, +)
        }
        for (status, count) in caller.count.cities {
            #expect(
                figures.sum("hb_requests_total", "/cities/", #"status_code="\#(status)""#) == count)
        }
        // The clients sent all requests that upstreams saw, and these saw all with a status.
        let sent = figures.sum("http_client_request_duration_seconds_count", #"method="GET""#)
        let answered = figures.sum(
            "http_client_request_duration_seconds_count", #"method="GET""#, "status_code=")
        let seen = figures.sum("upstream_requests_total")
        #expect(answered <= seen && seen <= sent, "\(answered) \(seen) \(sent)")
    }
}
