// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import MetricsTestKit
import Testing
import Turnpike
import TurnpikeMetrics
import TurnpikeTesting
import TurnpikeTraffic

@Suite("MetricsSystemRecorder, figures of gates")
struct FigureTests {
    private let metrics = TestMetrics()

    private var recorder: MetricsSystemRecorder { MetricsSystemRecorder(factory: metrics) }

    @Test("A gauge goes up and down, and back to zero")
    func gauge() {
        let recorder = self.recorder
        for amount in [1.0, 2.0, -1.0, 0, .infinity, .nan] {
            recorder.change("queue.length", by: amount, labels: ["queue": "a"])
        }
        #expect(metrics.levels("queue.length") == [2])
        recorder.change("queue.length", by: -2, labels: ["queue": "a"])
        #expect(metrics.levels("queue.length") == [0])
    }

    @Test("A counter grows, and never shrinks")
    func counter() {
        let recorder = self.recorder
        for amount in [1.0, 0.5, 0.5, -5, .infinity, .nan] {
            recorder.add(amount, to: "cache.evictions", labels: [:])
        }
        #expect(metrics.counterTotal(label: "cache.evictions") == 2)
        recorder.add(0, to: "cache.failures", labels: [:])
        #expect(metrics.counters.map(\.totalValue).sorted() == [0, 2])
    }

    @Test("All series of a figure have the same dimensions, whatever labels a gate gives")
    func dimensions() {
        let recorder = self.recorder
        let labels: [[String: String]] = [
            ["reason": "full"], [:], ["server.address": "a", "server.port": "1", "reason": "full"],
            ["reason": "full", "more": "x"],
        ]
        for labels in labels { recorder.add(1, to: "refusals", labels: labels) }
        recorder.labelled(gate: "search").add(1, to: "refusals", labels: ["reason": "full"])
        #expect(metrics.counters.count == 4)
        let names = ["server.address", "server.port", "turnpike.gate.id", "reason"]
        for counter in metrics.counters { #expect(counter.dimensions.map(\.0) == names) }
        let gates = metrics.counters(
            label: "refusals", dimensions: [("turnpike.gate.id", "search")])
        #expect(gates.map(\.totalValue) == [1])
        #expect(metrics.counterTotal(label: "refusals") == 5)
    }

    @Test("A name that is of another kind, or a metric of passes, is not recorded")
    func conflicts() async throws {
        let recorder = self.recorder
        recorder.add(1, to: "twice", labels: [:])
        recorder.change("twice", by: 1, labels: [:])
        recorder.change("http.client.active_requests", by: 1, labels: [:])
        #expect(metrics.counters.count == 1)
        #expect(metrics.meters.isEmpty)
    }

    @Test("Figures beyond the bound are one for each name, and gauges among them add up")
    func bounds() {
        let recorder = MetricsSystemRecorder(factory: metrics, maxSeries: 10)
        for number in 0..<100 {
            recorder.change("gauge", by: 1, labels: ["n": "\(number)"])
            recorder.add(1, to: "counter", labels: ["n": "\(number)"])
            recorder.add(1, to: "name \(number)", labels: [:])
        }
        for number in 0..<100 { recorder.change("gauge", by: -1, labels: ["n": "\(number)"]) }
        #expect(metrics.counters.count + metrics.meters.count == 20)
        #expect(metrics.levels("gauge").allSatisfy { $0 == 0 })
        #expect(metrics.counterTotal(label: "counter") == 100)
    }

    @Test("The figures of gates arrive, and gauges return to zero when gates go")
    func gates() async throws {
        let recorder = self.recorder
        let transport = MockTransport { _ in .connectionLost }
        do {
            let client = makeClient(
                transport,
                [
                    .circuitBreaker(meter: recorder), .concurrencyLimit(meter: recorder),
                    .metrics(recorder),
                ])
            for _ in 0..<100 { _ = try? await client.get(anywhere).data() }
            let open = metrics.meters(
                label: "turnpike.circuit_breaker.state", dimensions: [("state", "open")])
            #expect(open.map(\.lastValue) == [1])
            #expect(metrics.counterTotal(label: "turnpike.circuit_breaker.refusals") > 0)
            #expect(metrics.levels("turnpike.concurrency_limit.in_flight") == [0])
            await client.shutdown(grace: .zero)
        }
        #expect(metrics.levels("turnpike.circuit_breaker.state").allSatisfy { $0 == 0 })
        #expect(metrics.levels("http.client.active_requests") == [0])
    }
}
