// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// An exchange, and the attributes that OpenTelemetry's conventions give it.
struct AttributeCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var method: HTTPMethod = .get
    var url = "http://a.example/x"
    var answer: MockResponse = .ok()
    var attributes: [String: String]

    init(
        _ name: String, method: HTTPMethod = .get, url: String = "http://a.example/x",
        answer: MockResponse = .ok(), _ attributes: [String: String]
    ) {
        testDescription = name
        self.method = method
        self.url = url
        self.answer = answer
        self.attributes = [
            "http.request.method": "GET", "server.address": "a.example", "server.port": "80",
        ].merging(attributes) { $1 }.filter { !$0.value.isEmpty }
    }

    static let all = [
        AttributeCase("success", ["http.response.status_code": "200"]),
        AttributeCase(
            "path and query are no labels", url: "http://a.example/users/1?q=2#f",
            ["http.response.status_code": "200"]),
        AttributeCase(
            "port", url: "http://A.example:8080/",
            ["http.response.status_code": "200", "server.port": "8080"]),
        AttributeCase(
            "standard port", url: "https://a.example/",
            ["http.response.status_code": "200", "server.port": "443"]),
        AttributeCase(
            "IPv6", url: "http://[::1]/",
            ["http.response.status_code": "200", "server.address": "::1"]),
        AttributeCase(
            "user information is no label", url: "http://u:s3cret@a.example/",
            ["http.response.status_code": "200"]),
        AttributeCase(
            "registered method", method: .patch,
            ["http.response.status_code": "200", "http.request.method": "PATCH"]),
        AttributeCase(
            "unknown method", method: "PURGE",
            ["http.response.status_code": "200", "http.request.method": "_OTHER"]),
        AttributeCase(
            "methods are case-sensitive", method: "get",
            ["http.response.status_code": "200", "http.request.method": "_OTHER"]),
        AttributeCase(
            "redirect is no error", answer: .status(302), ["http.response.status_code": "302"]),
        AttributeCase(
            "client error", answer: .status(404),
            ["http.response.status_code": "404", "error.type": "404"]),
        AttributeCase(
            "server error", answer: .status(500),
            ["http.response.status_code": "500", "error.type": "500"]),
        AttributeCase(
            "no response", answer: .failure(ClientError(.dns, "x")), ["error.type": "dns"]),
        AttributeCase(
            "a user's error", answer: .failure(Odd(text: "s3cret")), ["error.type": "Odd"]),
        AttributeCase(
            "cancelled", answer: .failure(CancellationError()), ["error.type": "cancelled"]),
        AttributeCase(
            "broken body",
            answer: .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "")),
            ["http.response.status_code": "200", "error.type": "incomplete"]),
    ]

    struct Odd: Error { let text: String }
}

@Suite("Metrics")
struct MetricsTests {
    private let store = MetricsStore()

    @Test("Attributes are those of OpenTelemetry", arguments: AttributeCase.all)
    func attributes(sample: AttributeCase) async throws {
        let client = Client(MockTransport { _ in sample.answer }, [.metrics(store)])
        _ = try? await client.request(sample.method, Target(sample.url)).serialize(with: Text())
        #expect(store.series.count == 1)
        let labels = try #require(store.series.keys.first)
        #expect(
            Dictionary(uniqueKeysWithValues: labels.attributes.map { ($0.name, $0.value) })
                == sample.attributes)
        #expect(store.active.isEmpty)
    }

    @Test("Durations, sizes and passes under way are measured, with bounded labels")
    func measures() async throws {
        let clock = ManualClock()
        let store = MetricsStore(maxServers: 2, maxSeries: 5)
        let transport = MockTransport { request in
            .status(request.url.path() == "/no" ? 404 : 200, body: Data("12345".utf8)).delayed(
                by: .milliseconds(30))
        }
        let client = Client(transport, clock: clock, [.metrics(store)])
        let running = Task {
            try await client.post("http://a.example/1", body: .text("123")).response()
        }
        try await clock.waitForTimers(1)
        let active = try #require(store.active.first)
        #expect(active.value == 1)
        #expect(active.key.attributes.map(\.value) == ["POST", "a.example", "80"])
        #expect(store.prometheusText.contains("http_client_active_requests{") == true)
        clock.advance(by: .milliseconds(30))
        _ = try await running.value.body.collect(upTo: 10)
        #expect(store.active.isEmpty)
        let idle =
            #"http_client_active_requests{http_request_method="POST",server_address="a.example",server_port="80"} 0"#
        #expect(store.prometheusText.contains(idle + "\n"))
        let series = try #require(store.series.first?.value)
        #expect(series.duration.counts[3] == 1, "30 ms lie between 25 and 50")
        #expect(series.requestBodySize.sum == 3)
        #expect(series.responseBodySize.sum == 5)
        for host in ["b", "c", "d"] {
            for path in ["no", "1", "2"] {
                // The response is let go of inside: a task that has ended may keep its value for a
                // moment longer than who waits for it.
                let call = Task {
                    _ = try await client.request("ODD", "http://\(host).example/\(path)").response()
                }
                try await clock.waitForTimers(1)
                clock.advance(by: .milliseconds(30))
                try await call.value
            }
        }
        #expect(Set(store.series.keys.map(\.address)) == ["a.example", "b.example", "_OTHER"])
        #expect(store.series.count <= 6)
        #expect(Set(store.series.keys.map(\.method)) == ["POST", "_OTHER"])
        #expect(store.measured == 10)
        #expect(store.active.isEmpty)
    }

    @Test("Sends that repeat an earlier one are counted around a retry and inside it")
    func resends() async throws {
        let inside = MetricsStore()
        let transport = MockTransport([
            .any(.status(503), .connectionLost, .status(302, headers: ["Location": "/y"]), .ok())
        ])
        let client = Client(
            transport,
            [
                .metrics(store), .redirect(), .retry(backoff: Backoff(base: .zero)),
                .metrics(inside),
            ])
        _ = try await client.get(anywhere).serialize(with: Text())
        #expect(store.series.values.map(\.resends) == [3])
        let resends = inside.series.map(\.value.resends)
        #expect(resends.reduce(0, +) == 3)
        #expect(inside.measured == 4)
        #expect(store.prometheusText.contains("http_client_request_resends_total{"))
    }

    @Test("The buckets are those of OpenTelemetry")
    func histogram() {
        var histogram = Histogram(bounds: Histogram.durationBounds)
        for value in [0.005, 0.0051, 10, 11] { histogram.add(value) }
        #expect(histogram.counts.first == 1)
        #expect(histogram.counts[1] == 1)
        #expect(histogram.counts[13] == 1)
        #expect(histogram.counts.last == 1)
        #expect(histogram.count == 4)
        #expect(histogram.quantile(0.5) == 0.01)
        #expect(histogram.quantile(1) == .infinity)
    }

    @Test("The text is Prometheus' format, line by line")
    func prometheus() async throws {
        let transport = MockTransport { _ in .ok(text: "12345") }
        let client = Client(transport, [.metrics(store)])
        _ = try await client.get(anywhere).serialize(with: Text())
        store.add(2, to: "turnpike.breaker.rejections", labels: [:])
        store.change("turnpike.breaker.state", by: 0.5, labels: ["server.address": "a \"b\"\n\\c"])
        let lines = store.prometheusText.split(separator: "\n").map(String.init)
        let labels =
            #"http_request_method="GET",server_address="a.example",server_port="80","#
            + #"http_response_status_code="200""#
        #expect(lines.contains("# TYPE http_client_request_duration_seconds histogram"))
        for line in [
            #"http_client_request_duration_seconds_bucket{\#(labels),le="0.005"} 1"#,
            #"http_client_request_duration_seconds_bucket{\#(labels),le="10"} 1"#,
            #"http_client_request_duration_seconds_bucket{\#(labels),le="+Inf"} 1"#,
            "http_client_request_duration_seconds_sum{\(labels)} 0",
            "http_client_request_duration_seconds_count{\(labels)} 1",
            "http_client_response_body_size_bytes_sum{\(labels)} 5",
            "# TYPE turnpike_breaker_rejections_total counter",
            "turnpike_breaker_rejections_total 2",
            "# TYPE turnpike_breaker_state gauge",
            #"turnpike_breaker_state{server_address="a \"b\"\n\\c"} 0.5"#,
        ] { #expect(lines.contains(line), "\(line)") }
        let form =
            /(# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [^ ]+)/
        for line in lines { #expect(line.wholeMatch(of: form) != nil, "\(line)") }
        let types = lines.filter { $0.hasPrefix("# TYPE") }
        #expect(Set(types).count == types.count)
    }

    @Test(
        "Names and values that Prometheus has no form for are turned into ones that it has",
        arguments: [
            ("queue.length", Double.infinity, "queue_length +Inf"),
            ("a-b c", -.infinity, "a_b_c -Inf"), ("1st", .nan, "_1st NaN"), ("ü", 1e20, "_ 1e+20"),
            ("x\ny", -3, "x_y -3"), ("", 0.25, "_ 0.25"),
        ])
    func odd(name: String, value: Double, line: String) {
        store.change(name, by: value, labels: [:])
        #expect(store.prometheusText.split(separator: "\n").last.map(String.init) == line)
    }

    @Test("No two metrics and no two labels share a name")
    func collisions() throws {
        func lines() -> Set<Substring> {
            Set(store.prometheusText.split(separator: "\n").filter { !$0.hasPrefix("#") })
        }
        store.change("queue_length", by: 1, labels: [:])
        _ = lines()
        store.change("queue.length", by: 2, labels: [:])
        store.change("queue length", by: 3, labels: [:])
        store.add(4, to: "hits", labels: [:])
        store.change("hits_total", by: 5, labels: [:])
        store.add(6, to: "hits.total", labels: [:])
        store.change("http.client.active_requests", by: 7, labels: [:])
        store.change("http.client.request.duration_seconds_sum", by: 8, labels: [:])
        store.change(
            "x", by: 9, labels: ["a.b": "1", "a_b": "2", "a-b": "3", "le": "4", "__name__": "5"])
        store.change("x", by: 10, labels: ["a_b": "1"])
        store.change("x", by: 11, labels: ["a.b": "1", "http_request_method": "GET"])
        let expected: Set<Substring> = [
            "queue_length 1", "queue_length_2 3", "queue_length_3 2", "hits_total 4",
            "hits_2_total 6", "hits_total_2 5", "http_client_active_requests_2 7",
            "http_client_request_duration_seconds_sum_2 8",
            #"x{_name__="5",a_b="3",a_b_2="1",a_b_3="2",le_2="4"} 9"#, #"x{a_b_3="1"} 10"#,
            #"x{a_b_2="1",http_request_method_2="GET"} 11"#,
        ]
        #expect(lines() == expected)
        // A name is kept, whatever else comes.
        store.change("a", by: 1, labels: ["A.b": ""])
        #expect(lines().subtracting(expected) == [#"a{A_b=""} 1"#])
        let types = store.prometheusText.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
        #expect(Set(types).count == types.count)
    }

    @Test("What gates count is bounded too")
    func figuresAreBounded() {
        let store = MetricsStore(maxSeries: 10)
        for index in 0..<1000 {
            store.add(1, to: "refusals", labels: ["origin": "\(index)"])
            store.change("name \(index)", by: 1, labels: [:])
        }
        store.add(-5, to: "refusals", labels: ["origin": "0"])
        #expect(store.figures.count <= 20)
        let refusals = store.figures.filter { $0.key.name == "refusals" }.map(\.value)
        #expect(refusals.reduce(0, +) == 1000)
    }
}

@Suite("Metrics under load")
struct MetricsConcurrencyTests {
    @Test("A thousand calls at once are all counted, and none stays under way")
    func load() async throws {
        let store = MetricsStore(maxServers: 3)
        let transport = MockTransport(recordLimit: 0) { request in
            request.url.path() == "/5" ? .failure(ClientError(.connection, "lost")) : .ok(text: "x")
        }
        let client = Client(transport, [.metrics(store)])
        await withTaskGroup { group in
            for index in 0..<1000 {
                group.addTask {
                    let target = Target("http://host\(index % 7).example/\(index % 10)")
                    _ = try? await client.get(target).serialize(with: Text())
                    store.add(1, to: "calls", labels: ["host": "\(index % 7)"])
                    store.change("level", by: index % 2 == 0 ? 2 : -1, labels: [:])
                    if index % 100 == 0 { _ = store.prometheusText }
                }
            }
        }
        #expect(store.active.isEmpty)
        #expect(store.measured == 1000)
        let lost = store.series.filter { $0.key.errorType == "connection" }
        #expect(lost.map(\.value.duration.count).reduce(0, +) == 100)
        #expect(Set(store.series.keys.map(\.address)).count == 4)
        let calls = store.figures.filter { $0.key.name == "calls" }.map(\.value)
        #expect(calls.reduce(0, +) == 1000)
        #expect(store.figures[GateFigure(name: "level", kind: .gauge)] == 500)
    }
}

extension MetricsStore {
    /// How many durations were measured in all.
    fileprivate var measured: Int { series.values.map(\.duration.count).reduce(0, +) }
}
