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
