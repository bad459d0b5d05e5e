import Foundation
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

@Suite("Log and Metrics")
struct LogAndMetricsTests {
    private let sink = MemoryLogSink()

    @Test("A call is a line, with retries and redirects beside it")
    func lines() async throws {
        let transport = MockTransport([
            .any(.status(503), .status(302, headers: ["Location": "/y"]), .ok(text: "abc"))
        ])
        let client = Client(
            transport, [.log(to: sink), .redirect(), .retry(backoff: Backoff(base: .zero))])
        _ = try await client.get("http://a.example/x?token=s3cret").serialize(with: Text())
        #expect(sink.lines.count == 3)
        #expect(sink.lines[0].contains("attempt 2 in 0.0 ms, because of 503"))
        #expect(sink.lines[1].contains("302 Found leads to GET http://a.example/y"))
        #expect(sink.lines[2].contains("200 OK, 3 bytes"))
    }

    @Test("Inside a retry it tells of attempts")
    func attempts() async throws {
        let transport = MockTransport([.any(.connectionLost, .ok(text: "abc"))])
        let client = Client(transport, [.retry(backoff: Backoff(base: .zero)), .log(to: sink)])
        _ = try await client.get(anywhere).serialize(with: Text())
        #expect(sink.lines.count == 2)
        #expect(sink.lines[0].contains("! connection"))
        #expect(sink.lines[1].contains("200 OK"))
    }

    @Test("How a body ended is told", arguments: ["drop", "fail", "cancel"])
    func ends(how: String) async throws {
        let clock = ManualClock()
        let answer: MockResponse =
            switch how {
            case "fail": .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "broke"))
            case "cancel": .stream([Data("x".utf8)], every: .seconds(60))
            default: .ok(text: "x")
            }
        let client = Client(MockTransport { _ in answer }, clock: clock, [.log(to: sink)])
        switch how {
        case "drop": _ = try await client.get(anywhere).response()
        case "fail": _ = try? await client.get(anywhere).serialize(with: Text())
        default:
            let call = Task { try await client.get(anywhere).serialize(with: Text()) }
            await clock.waitForTimers(1)
            call.cancel()
            _ = try? await call.value
        }
        let expected = [
            "drop": "not read to its end", "fail": "broken off: incomplete", "cancel": "cancelled",
        ]
        #expect(sink.lines.count == 1)
        #expect(sink.lines.first?.contains(expected[how] ?? "?") == true, "\(sink.lines)")
    }

    @Test("No secret is in a line, a header, an error or a label, wherever it was planted")
    func secrets() async throws {
        let answers: [MockResponse] = [
            .status(
                302,
                headers: [
                    "Location": "http://u:s3cret@a.example/y?access_token=s3cret#id_token=s3cret"
                ]),
            .status(
                503, headers: ["Set-Cookie": "sid=s3cret", "X-Api-Key": "s3cret"],
                body: Data("s3cret".utf8)),
            .failure(
                ClientError(
                    .connection, "lost",
                    underlying: URLError(
                        .unknown,
                        userInfo: [
                            NSLocalizedDescriptionKey:
                                "no answer from http://u:s3cret@a.example/?sig=s3cret"
                        ]))),
            .status(
                401, headers: ["Authentication-Info": "s3cret"],
                body: Data("{\"password\":\"s3cret\"}".utf8)),
        ]
        let store = MetricsStore()
        var texts: [String] = []
        for answer in answers {
            let transport = MockTransport([.any(answer, .ok(text: "s3cret"))])
            let client = Client(
                transport,
                [
                    .log(to: sink, level: .debug), .metrics(store), .validate(), .redirect(),
                    .retry(attempts: 2, backoff: Backoff(base: .zero)),
                ])
            do {
                let response = try await client.post(
                    "http://user:s3cret@a.example/x?api_key=s3cret&q=kept", body: .text("s3cret"),
                    headers: [
                        "Cookie": "s3cret", "Proxy-Authorization": "s3cret", "X-Api-Key": "s3cret",
                        "X-Session-Token": "s3cret", "X-Kept": "kept",
                    ]
                ).retryable().response()
                texts += ["\(response)", String(reflecting: response), "\(response.headers)"]
            } catch {
                var dumped = ""
                dump(error, to: &dumped)
                texts += [
                    "\(error)", String(reflecting: error), dumped, error.localizedDescription,
                ]
            }
        }
        texts += sink.lines + store.series.keys.map { "\($0)" }
        #expect(
            texts.allSatisfy { !$0.contains("s3cret") }, "\(texts.filter { $0.contains("s3cret") })"
        )
        #expect(sink.lines.contains { $0.contains("kept") })
    }

    @Test("A line cannot be forged")
    func forging() async throws {
        let transport = MockTransport { _ in .failure(ClientError(.protocol, "odd")) }
        let client = Client(transport, [.log(to: sink)])
        _ = try? await client.request("G\r\nfake line", anywhere).response()
        #expect(sink.lines.count == 1)
        #expect(sink.lines.allSatisfy { !$0.contains { $0.isNewline } })
    }

    @Test("More names can be hidden")
    func moreNames() async throws {
        let client = Client(
            MockTransport { _ in .ok() },
            [
                .log(
                    to: sink, level: .debug,
                    redaction: .standard.adding(headers: ["x-tenant"], query: ["user"]))
            ])
        _ = try await client.get("http://a.example/?user=s3cret", headers: ["X-Tenant": "s3cret"])
            .response()
        #expect(sink.lines.allSatisfy { !$0.contains("s3cret") })
    }

    @Test("Durations, sizes and errors are counted by bounded labels")
    func metrics() async throws {
        let clock = ManualClock()
        let store = MetricsStore(maxServers: 2, maxSeries: 5)
        let transport = MockTransport { request in
            .status(request.url.path() == "/no" ? 404 : 200, body: Data("12345".utf8)).delayed(
                by: .milliseconds(30))
        }
        let client = Client(transport, clock: clock, [.metrics(store)])
        let running = Task { try await client.get("http://a.example/\(1)").response() }
        await clock.waitForTimers(1)
        #expect(store.active == ["a.example:80": 1])
        clock.advance(by: .milliseconds(30))
        _ = try await running.value.body.collect(upTo: 10)
        #expect(store.active.isEmpty)
        let (labels, series) = try #require(store.series.first)
        #expect(labels.method == "GET")
        #expect(labels.address == "a.example")
        #expect(labels.port == 80)
        #expect(labels.status == 200)
        #expect(series.duration.counts[3] == 1, "30 ms lie between 25 and 50")
        #expect(series.responseBodySize.sum == 5)
        for host in ["b", "c", "d"] {
            for path in ["no", "1", "2"] {
                let call = Task {
                    try await client.request("ODD", "http://\(host).example/\(path)").response()
                }
                await clock.waitForTimers(1)
                clock.advance(by: .milliseconds(30))
                _ = try await call.value
            }
        }
        #expect(Set(store.series.keys.map(\.address)) == ["a.example", "b.example", "other"])
        #expect(store.series.count <= 6)
        #expect(Set(store.series.keys.map(\.method)) == ["GET", "_OTHER"])
        #expect(store.series.keys.contains { $0.errorType == "404" })
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

    @Test("A file that the log appends to is its owner's alone")
    func file() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sink = try LineSink(appendingTo: path)
        sink.write("one")
        sink.write("two")
        await sink.flush()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\ntwo\n")
        let mode =
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }
}
