// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import MetricsTestKit
import Testing
import Turnpike
import TurnpikeMetrics
import TurnpikeTesting

@Suite("MetricsSystemRecorder, passes")
struct PassTests {
    private let metrics = TestMetrics()

    private var recorder: MetricsSystemRecorder { MetricsSystemRecorder(factory: metrics) }

    /// The names of the conventions, with patterns for their values.
    private static let table: [(name: String, values: String)] = [
        ("http.request.method", "[A-Z]+|_OTHER"), ("server.address", "[^/:@]+"),
        ("server.port", "[0-9]+"), ("http.response.status_code", "[1-9][0-9]{2}"),
        ("error.type", "[a-zA-Z_0-9]+"), ("network.protocol.version", "1\\.[01]|2|3"),
    ]

    @Test("Durations are in nanoseconds, with seconds as their unit, and end with the body")
    func duration() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in .stream([Data("ab".utf8), Data("cd".utf8)]) }
        let client = makeClient(transport, [recorder], clock: clock)
        let response = try await client.post(anywhere, body: .text("12345")).response()
        clock.advance(by: .milliseconds(1500))
        #expect(metrics.passes.isEmpty)
        #expect(try await response.body.collect(upTo: 10) == Data("abcd".utf8))
        let timer = try #require(metrics.timers(label: "http.client.request.duration").first)
        #expect(timer.values == [1_500_000_000])
        #expect(timer.displayUnit == .seconds)
        #expect(timer.valueInPreferredUnit(atIndex: 0) == 1.5)
        #expect(metrics.recorders(label: "http.client.response.body.size").map(\.values) == [[4]])
        #expect(metrics.recorders(label: "http.client.request.body.size").map(\.values) == [[5]])
        #expect(metrics.recorders.allSatisfy { $0.aggregate })
        #expect(
            metrics.passes == [
                [
                    "http.request.method": "POST", "server.address": "a.example",
                    "server.port": "80", "http.response.status_code": "200",
                ]
            ])
    }

    @Test("All series of a metric have the same dimensions, whose values fit the conventions")
    func conventions() async throws {
        let transport = MockTransport([.any(.ok(text: "x"), .status(404), .connectionLost)])
        let client = makeClient(transport, [recorder])
        _ = try await client.get("https://a.example/").data()
        _ = try await client.request("PURGE", "http://b.example:8080/").data()
        _ = try? await client.get(anywhere).data()
        let patterns = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.name, $0.values) })
        let series = metrics.timers.map(\.dimensions) + metrics.recorders.map(\.dimensions)
        #expect(series.count == 5, "three durations, and sizes of two responses")
        for dimensions in series {
            #expect(dimensions.map(\.0) == Self.table.map(\.name))
            for (name, value) in dimensions where !value.isEmpty {
                let pattern = try #require(patterns[name])
                #expect(try Regex(pattern).wholeMatch(in: value) != nil, "\(name): \(value)")
            }
        }
        #expect(
            metrics.meters.allSatisfy {
                $0.dimensions.map(\.0) == ["http.request.method", "server.address", "server.port"]
            })
        #expect(Set(metrics.passes.map { $0["error.type"] }) == [nil, "404", "connection"])
        #expect(Set(metrics.passes.map { $0["http.request.method"] }) == ["GET", "_OTHER"])
    }

    @Test(
        "A pass is active until its body ends, and each end is recorded once",
        arguments: Ending.allCases)
    func active(ending: Ending) async throws {
        let clock = ManualClock()
        let client = makeClient(
            MockTransport { _ in ending.answer }, [.metrics(recorder)], clock: clock)
        switch ending {
        case .dropped:
            do {
                let response = try await client.get(anywhere).response()
                #expect(metrics.levels("http.client.active_requests") == [1])
                #expect(metrics.passes.isEmpty)
                withExtendedLifetime(response) {}
            }
        case .cancelled:
            let call = Task { try await client.get(anywhere).data() }
            try await clock.waitForTimers(1)
            #expect(metrics.levels("http.client.active_requests") == [1])
            call.cancel()
            _ = try? await call.value
        case .otherTask:
            let response = try await client.get(anywhere).response()
            _ = try await Task.detached { try await response.body.collect(upTo: 10) }.value
        case .read, .refused, .broken: _ = try? await client.get(anywhere).data()
        }
        #expect(metrics.levels("http.client.active_requests") == [0])
        #expect(metrics.passes.map { $0["error.type"] } == [ending.error])
    }

    @Test("Inside a retry attempts are recorded, outside calls with their resends")
    func retried() async throws {
        let transport = MockTransport([
            .any(.status(503), .status(302, headers: ["Location": "/y"]), .ok(text: "abc"))
        ])
        let inner = TestMetrics()
        let client = makeClient(
            transport,
            [
                recorder, .redirect(), retrying,
                .metrics(MetricsSystemRecorder(factory: inner)),
            ])
        _ = try await client.get(anywhere).data()
        #expect(metrics.passes.map { $0["http.response.status_code"] } == ["200"])
        #expect(metrics.counterTotal(label: "http.client.request.resends") == 2)
        let statuses = inner.passes.compactMap { $0["http.response.status_code"] }
        #expect(statuses.sorted() == ["200", "302", "503"])
        #expect(inner.counterTotal(label: "http.client.request.resends") == 2)
        #expect(inner.levels("http.client.active_requests") == [0])
    }

    @Test("The size of a response is that before its coding was removed; a failure has none")
    func responseSize() async throws {
        let name = "http.client.response.body.size"
        let failing = MockTransport([
            .any(.connectionLost, .connectionLost, .ok(text: "abcd"), .ok(text: "abcd"), .ok())
        ])
        let recorder = self.recorder
        for size in [nil, nil, Int64?.some(2), nil, nil] {
            let client = makeClient(failing, [recorder, Coded(size: size)])
            if metrics.passes.count == 2 { #expect(metrics.recorders(label: name).isEmpty) }
            _ = try? await client.get(anywhere).data()
        }
        #expect(metrics.passes.count == 5)
        #expect(metrics.recorders(label: name).map(\.values) == [[2, 4, 0]])
    }

    @Test("Servers and series beyond the bounds are recorded together")
    func bounds() async throws {
        let recorder = MetricsSystemRecorder(factory: metrics, maxServers: 2, maxSeries: 3)
        let client = makeClient(
            MockTransport { request in
                .status(HTTPStatus(Int(request.url.lastPathComponent) ?? 200))
            }, [recorder])
        for host in ["a", "b", "c", "d"] {
            _ = try await client.get("http://\(host).example/200").data()
        }
        for status in 201...230 {
            _ = try await client.get("http://a.example/\(status)").data()
        }
        let addresses = Set(metrics.passes.compactMap { $0["server.address"] })
        #expect(addresses == ["a.example", "b.example", "_OTHER"])
        #expect(metrics.timers.count == 4)
        let overflow = metrics.timers(
            label: "http.client.request.duration", dimensions: [("http.request.method", "_OTHER")])
        #expect(overflow.map(\.values.count) == [30])
        #expect(metrics.levels("http.client.active_requests") == [0, 0, 0])
    }

    @Test("Instruments are made once, and add up over many calls at the same time")
    func concurrent() async throws {
        let recorder = self.recorder
        let client = makeClient(MockTransport { _ in .ok(text: "x") }, [recorder])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { _ = try await client.get(anywhere).data() }
                }
            }
            try await group.waitForAll()
        }
        #expect(metrics.timers.map(\.values.count) == [400])
        #expect(metrics.levels("http.client.active_requests") == [0])
    }

    @Test("The version of the protocol is a dimension, if the transport knows it")
    func version() async throws {
        let client = makeClient(Versioned(), [recorder])
        _ = try await client.get(anywhere).data()
        #expect(metrics.passes.map { $0["network.protocol.version"] } == ["2"])
    }

    @Test("Calls over a real connection are recorded once each")
    func server() async throws {
        let server = try TestServer()
        server.route("/flaky", .status(503), .ok(text: "abc"))
        server.route("/short", .short(declared: 100, sent: Data("x".utf8)))
        let client = makeClient(URLSessionTransport(), [retrying, recorder])
        #expect(try await client.get("\(server.url)flaky").string() == "abc")
        let response = try await client.get("\(server.url)short").response()
        await #expect(throws: (any Error).self) { try await response.body.collect(upTo: 1000) }
        let passes = metrics.passes
        #expect(passes.count == 3)
        #expect(passes.allSatisfy { $0["server.port"] == "\(server.port)" })
        #expect(passes.filter { $0["error.type"] != nil }.count == 2)
        #expect(metrics.levels("http.client.active_requests") == [0])
        await client.shutdown(grace: .zero)
    }

    @Test("What it states as a gate")
    func facts() throws {
        let facts = try #require(recorder.facts(for: nil))
        #expect(
            facts.effects.contains {
                if case .measures(hasBoundedLabels: true) = $0 { true } else { false }
            })
    }
}

/// The possible ends of a call.
enum Ending: CaseIterable, Sendable {
    case read, refused, broken, dropped, cancelled, otherTask

    var answer: MockResponse {
        switch self {
        case .read, .otherTask: .ok(text: "x")
        case .refused: .connectionLost
        case .broken:
            .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "broke"))
        case .dropped: .ok(text: "x")
        case .cancelled: .stream([Data("x".utf8)], every: .seconds(60))
        }
    }

    var error: String? {
        switch self {
        case .read, .dropped, .otherTask: nil
        case .refused: "connection"
        case .broken: "incomplete"
        case .cancelled: "cancelled"
        }
    }
}
