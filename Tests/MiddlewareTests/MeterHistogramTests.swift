// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Durations that gates and transports record")
struct MeterHistogramTests {
    private let store = MetricsStore(maxSeries: 10)

    private var lines: [Substring] { store.prometheusText.split(separator: "\n") }

    @Test("A histogram is in seconds, with its buckets, sum and count")
    func text() {
        store.describe("pool.age", as: "How long things last.")
        for duration: Duration in [.milliseconds(5), .milliseconds(1500), .seconds(1000)] {
            store.record(duration, to: "pool.age", labels: ["peer": "a"])
        }
        #expect(lines.contains("# HELP pool_age_seconds How long things last."))
        #expect(lines.contains("# TYPE pool_age_seconds histogram"))
        #expect(lines.contains(#"pool_age_seconds_bucket{peer="a",le="0.01"} 1"#))
        #expect(lines.contains(#"pool_age_seconds_bucket{peer="a",le="2"} 2"#))
        #expect(lines.contains(#"pool_age_seconds_bucket{peer="a",le="300"} 2"#))
        #expect(lines.contains(#"pool_age_seconds_bucket{peer="a",le="+Inf"} 3"#))
        #expect(lines.contains(#"pool_age_seconds_sum{peer="a"} 1001.505"#))
        #expect(lines.contains(#"pool_age_seconds_count{peer="a"} 3"#))
    }

    @Test("No other figure gets a name of its series")
    func names() {
        store.add(1, to: "pool.age.seconds.count", labels: [:])
        store.change("pool.age.seconds.sum", by: 1, labels: [:])
        store.record(.seconds(1), to: "pool.age", labels: [:])
        let types = lines.filter { $0.hasPrefix("# TYPE pool") }
        #expect(
            types == [
                "# TYPE pool_age_seconds_count_total counter", "# TYPE pool_age_seconds_sum gauge",
                "# TYPE pool_age_2_seconds histogram",
            ])
    }

    @Test("Series beyond the bound are one for each name")
    func bounds() {
        for number in 0..<100 {
            store.record(.seconds(1), to: "age", labels: ["n": "\(number)"])
            store.record(.seconds(1), to: "name\(number)", labels: [:])
        }
        #expect(store.histograms.count == 20)
        #expect(
            store.histograms.filter { $0.key.name == "age" }.values.reduce(0) { $0 + $1.count }
                == 100
        )
    }

    @Test("A meter for one gate passes durations on with its label, and others may ignore them")
    func labelled() {
        store.labelled(gate: "pool").record(.seconds(1), to: "age", labels: [:])
        #expect(store.histograms.keys.first?.labels == ["turnpike.gate.id": "pool"])
        #expect(store.histograms.keys.first?.kind == .histogram)
        struct Deaf: GateMeter {
            func add(_ amount: Double, to name: String, labels: [String: String]) {}
            func change(_ name: String, by amount: Double, labels: [String: String]) {}
        }
        Deaf().record(.seconds(1), to: "age", labels: [:])
    }
}

@Suite("Meters that a program registers for stack files")
struct RegisteredMeterTests {
    private let store = MetricsStore()

    private var registry: Registry {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerTransports()
        registry.register(meter: store, as: "service")
        return registry
    }

    private func client(_ gate: JSONValue) throws -> ConfiguredClient {
        let file = try StackFile([
            "transport": ["use": "mock", "responses": [["status": 503]]], "stack": [gate],
        ])
        return try ConfiguredClient(file, registry: registry, serializers: SerializerTable())
    }

    private func message(_ gate: JSONValue) -> String {
        #expect(throws: ClientError.self) { try client(gate) }?.message ?? ""
    }

    @Test("A gate reports to the meter that its file names, with its id")
    func reports() async throws {
        let configured = try client([
            "use": "circuitBreaker", "id": "main", "minimum": 1, "metrics": "meter:service",
        ])
        _ = try? await configured.client.get("http://a.example/").response()
        let open = store.figures.first { $0.key.labels["state"] == "open" }
        #expect(open?.value == 1)
        #expect(open?.key.labels["turnpike.gate.id"] == "main")
    }

    @Test("A name that is not registered is a mistake, with its path and a hint")
    func unknown() {
        let text = message(["use": "circuitBreaker", "metrics": "meter:servise"])
        #expect(text.contains("stack[0].metrics: found \"servise\"; expected "), "\(text)")
        #expect(text.contains("service"))
    }

    @Test("A name that comes from a file is not shown")
    func referenced() throws {
        let text = message([
            "use": "circuitBreaker", "metrics": ["env": "TURNPIKE_TEST_UNSET"],
        ])
        #expect(text.contains("stack[0].metrics"), "\(text)")
    }

    @Test("Passes go to a file, not to a meter")
    func passes() {
        let text = message(["use": "metrics", "to": "meter:service"])
        #expect(text.contains("stack[0].to: found a meter"), "\(text)")
    }
}
