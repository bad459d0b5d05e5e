// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Figures that gates report to a meter")
struct GateMeterTests {
    private let clock = ManualClock()
    private let store = MetricsStore()

    /// The lines of the text that are about a figure.
    private func lines(_ name: String) -> Set<String> {
        Set(
            store.prometheusText.split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix(name) })
    }

    /// Expects a help text for each figure so far.
    private func expectHelp() {
        let texts = lines("# HELP turnpike")
        #expect(!texts.isEmpty)
        #expect(texts.allSatisfy { !$0.contains("does not describe") }, "\(texts)")
    }

    private func expectState(_ state: String, at host: String = "a.example") {
        for other in ["closed", "half_open", "open"] {
            let labels = #"server_address="\#(host)",server_port="80",state="\#(other)""#
            let line = "turnpike_circuit_breaker_state{\(labels)} \(other == state ? 1 : 0)"
            #expect(lines("turnpike_circuit_breaker_state").contains(line), "\(line)")
        }
    }

    @Test("A breaker reports each change of its circuits, and refused calls")
    func breaker() async throws {
        let isWell = Mutex(false)
        let transport = MockTransport { _ in isWell.withLock { $0 } ? .ok() : .status(503) }
        let client = Client(
            transport, clock: clock, [.circuitBreaker(minimum: 4, probes: 2, meter: store)])
        for _ in 0..<3 { _ = try await client.get(anywhere).response() }
        #expect(lines("turnpike").isEmpty, "a circuit that was never open has no series")
        _ = try await client.get(anywhere).response()
        expectState("open")
        for _ in 0..<2 { #expect(await code(of: client.get(anywhere)) == .circuitOpen) }
        clock.advance(by: .seconds(15))
        _ = try await client.get(anywhere).response()
        expectState("open")
        clock.advance(by: .seconds(30))
        isWell.withLock { $0 = true }
        _ = try await client.get(anywhere).response()
        expectState("half_open")
        _ = try await client.get(anywhere).response()
        expectState("closed")
        let refusals =
            #"turnpike_circuit_breaker_refusals_total{server_address="a.example",server_port="80"} 2"#
        #expect(lines("turnpike_circuit_breaker_refusals_total") == [refusals])
        expectHelp()
    }

    @Test("A forgotten circuit is removed from the metrics")
    func eviction() async throws {
        let client = Client(
            MockTransport { $0.origin?.host == "a.example" ? .status(503) : .ok() }, clock: clock,
            [.circuitBreaker(minimum: 1, meter: store)])
        _ = try await client.get(anywhere).response()
        expectState("open")
        for number in 0..<1024 {
            _ = try await client.get(Target("http://h\(number).example/")).response()
        }
        expectState("none")
        #expect(lines("turnpike_circuit_breaker_state").count == 3)
        _ = try await client.get(anywhere).response()
        expectState("open")
    }

    @Test("A concurrency limit reports running, waiting and refused calls")
    func permits() async throws {
        let transport = MockTransport { _ in .ok(text: "held") }
        let client = Client(
            transport, clock: clock,
            [.concurrencyLimit(perOrigin: 1, queue: 1, adaptive: AdaptiveLimit(), meter: store)])
        let held = try await client.get(anywhere).response()
        #expect(
            lines("turnpike_concurrency_limit") == [
                "turnpike_concurrency_limit_in_flight 1", "turnpike_concurrency_limit_waiting 0",
                #"turnpike_concurrency_limit_limit{server_address="a.example",server_port="80"} 1"#,
            ])
        let waiting = Task { try await client.get(anywhere).serialize(with: Text()) }
        try await until("a waiting caller in the metrics") {
            store.prometheusText.contains("concurrency_limit_waiting 1\n")
        }
        #expect(await code(of: client.get(anywhere)) == .overloaded)
        held.body.cancel(.drop)
        _ = try await waiting.value
        let end = lines("turnpike_concurrency_limit")
        #expect(end.contains("turnpike_concurrency_limit_in_flight 0"))
        #expect(end.contains("turnpike_concurrency_limit_waiting 0"))
        #expect(end.contains { $0.hasPrefix("turnpike_concurrency_limit_refusals_total{") })
        expectHelp()
    }

    @Test("The limit of a forgotten origin is removed from the gauges")
    func forgottenLimit() async throws {
        let store = MetricsStore(maxSeries: 3000)
        let client = Client(
            MockTransport { _ in .ok() }, clock: clock,
            [.concurrencyLimit(perOrigin: 8, adaptive: AdaptiveLimit(), meter: store)])
        for number in 0..<1030 {
            _ = try await client.get(Target("http://h\(number).example/")).response()
        }
        let limits = store.figures.filter { $0.key.name == "turnpike.concurrency_limit.limit" }
        #expect(limits.values.count { $0 != 0 } == 1024)
        #expect(limits.first { $0.key.labels["server.address"] == "h0.example" }?.value == 0)
        #expect(limits.first { $0.key.labels["server.address"] == "h9.example" }?.value == 8)
    }

    @Test("A rate limit reports waiting calls, and a budget refused retries")
    func others() async throws {
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0, meter: store)
        let client = Client(
            MockTransport { _ in .status(503) }, clock: clock,
            [.retry(budget: budget), .rateLimit(perSecond: 1, queue: 1, meter: store)])
        _ = try await client.get(anywhere).response()
        let waiting = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        try await until("a waiting caller in the metrics") {
            store.prometheusText.contains("turnpike_rate_limit_waiting 1\n")
        }
        #expect(await code(of: client.get(anywhere)) == .rateLimited)
        clock.advance(by: .seconds(1))
        _ = try await waiting.value
        let labels = #"{server_address="a.example",server_port="80"}"#
        #expect(
            lines("turnpike_rate_limit") == [
                "turnpike_rate_limit_waiting 0", "turnpike_rate_limit_refusals_total\(labels) 1",
            ])
        #expect(
            lines("turnpike_retry_budget").contains(
                "turnpike_retry_budget_refusals_total\(labels) 2"))
        expectHelp()
    }

    @Test("Labels and a move lose no help text, and a figure without one says so")
    func help() {
        let figures = GateFigures(store.labelled(gate: "a"), help: ["queue": "Calls that wait."])
        figures.tell { [.gauge("queue"): 2] }
        figures.add(1, to: "odd")
        #expect(lines("# HELP queue") == ["# HELP queue Calls that wait."])
        #expect(
            lines("# HELP odd") == ["# HELP odd_total A counter that its gate does not describe."])
        let other = MetricsStore()
        figures.move(to: other)
        #expect(other.prometheusText.contains("# HELP queue Calls that wait.\n"))
        store.describe("queue", as: "One\nline \\ \"text\"")
        #expect(lines("# HELP queue") == [#"# HELP queue One\nline \\ "text""#])
    }

    @Test("Gauges of gates that share a meter add up, unless a label tells them apart")
    func sums() async throws {
        let inner = store.labelled(gate: "inner")
        let client = Client(
            MockTransport { _ in .ok(text: "held") }, clock: clock,
            [
                .concurrencyLimit(total: 4, meter: store),
                .concurrencyLimit(total: 3, meter: store),
                .concurrencyLimit(total: 1, queue: 0, meter: inner),
            ])
        let name = "turnpike_concurrency_limit_in_flight"
        let held = try await client.get(anywhere).response()
        #expect(lines(name) == ["\(name) 2", #"\#(name){turnpike_gate_id="inner"} 1"#])
        #expect(await code(of: client.get(anywhere)) == .overloaded)
        #expect(
            lines("turnpike_concurrency_limit_refusals").allSatisfy {
                $0.contains(#"turnpike_gate_id="inner""#)
            })
        held.body.cancel(.drop)
        #expect(lines(name) == ["\(name) 0", #"\#(name){turnpike_gate_id="inner"} 0"#])
    }

    @Test("A gate that is released subtracts its own part of the gauges")
    func gone() async throws {
        func open() async throws -> Client {
            let client = Client(
                MockTransport { _ in .status(503) }, clock: clock,
                [.circuitBreaker(minimum: 1, meter: store)])
            _ = try await client.get(anywhere).response()
            return client
        }
        func count() -> Double? {
            store.figures.first { $0.key.labels["state"] == "open" }?.value
        }
        let first = try await open()
        var second: Client? = try await open()
        #expect(count() == 2)
        _ = second
        second = nil
        #expect(count() == 1)
        expectState("open")
        _ = first
    }
}

@Suite("Figures that gates report to a meter from several threads")
struct GateMeterConcurrencyTests {
    @Test("The last figure of a meter is right, however calls race")
    func last() async throws {
        let store = MetricsStore()
        let origin = Origin(scheme: "http", host: "a.example", port: 80)
        let breaker = CircuitBreaker(
            failureRatio: 0.01, minimum: 1, open: .nanoseconds(1), maxOpen: .nanoseconds(1),
            probes: 1, meter: store)
        let flips = Mutex(0)
        let transport = MockTransport(recordLimit: 0) { _ in
            let number = flips.withLock { flips in
                flips += 1
                return flips
            }
            return number % 3 == 0 ? .status(503) : .ok()
        }
        let client = Client(
            transport, clock: SystemTimeSource(),
            [breaker, .concurrencyLimit(total: 8, queue: 1000, meter: store)])
        await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask { _ = try? await client.get(anywhere).response() }
            }
        }
        let shown = store.figures.filter {
            $0.key.name == "turnpike.circuit_breaker.state" && $0.value == 1
        }.compactMap { $0.key.labels["state"] }
        let state = breaker.state(of: origin)
        #expect(shown == [state == .halfOpen ? "half_open" : state.rawValue])
        let counts = store.figures.filter { $0.key.labels.isEmpty }.map(\.value)
        #expect(counts == [0, 0])
    }
}
