// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Ejection of endpoints")
struct EndpointHealthTests {
    private let clock = ManualClock()
    private let servers = EndpointServers()
    private let logger = NoteLogger()
    private let store = MetricsStore()

    private func client(
        _ count: Int, _ health: EndpointHealth, policy: BalancingPolicy = .roundRobin,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) -> (Client, Endpoints) {
        let gate = Endpoints(
            for: "users.internal", from: ScriptedResolver(Endpoint.first(count), freshFor: nil),
            policy: policy, health: health, meter: store, verdict: verdict)
        return (Client(servers.transport, clock: clock, [logger, gate]), gate)
    }

    private func lines(_ name: String) -> Set<String> {
        Set(
            store.prometheusText.split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix(name) })
    }

    // MARK: Failures in a row

    @Test("An endpoint that fails five times in a row is ejected, and returns after 5 s")
    func ejects() async throws {
        servers.set([0], .status(500))
        let (client, gate) = client(3, EndpointHealth())
        await client.send(12)
        #expect(gate.numbers(.ejected) == [])
        await client.send(3)
        #expect(gate.numbers(.ejected) == [0])
        let before = servers.sent.count
        await client.send(10)
        #expect(!servers.sent.dropFirst(before).contains(0))
        #expect(
            logger.all.contains(
                "10.0.0.1:8080 is ejected for 5 s after 5 failures in a row"))
        let labels = #"server_address="users.internal""#
        #expect(
            lines("turnpike_endpoints") == [
                #"turnpike_endpoints_count{\#(labels),state="down"} 0"#,
                #"turnpike_endpoints_count{\#(labels),state="ejected"} 1"#,
                #"turnpike_endpoints_count{\#(labels),state="usable"} 2"#,
                #"turnpike_endpoints_ejections_total{reason="check",\#(labels)} 0"#,
                #"turnpike_endpoints_ejections_total{reason="consecutive_failures",\#(labels)} 1"#,
                #"turnpike_endpoints_ejections_total{reason="success_ratio",\#(labels)} 0"#,
                #"turnpike_endpoints_panics_total{\#(labels)} 0"#,
                #"turnpike_endpoints_refresh_failures_total{\#(labels)} 0"#,
            ])
        clock.advance(by: .seconds(2))
        #expect(
            gate.liveFigures(at: clock.now) == [
                LiveFigure("10.0.0.1:8080", "ejected, 3 s left", isTrouble: true),
                LiveFigure("usable", "2 of 3"),
            ])
        clock.advance(by: .seconds(3))
        servers.set([0], nil)
        await client.send(1)
        #expect(gate.numbers(.ejected) == [])
        #expect(
            lines("turnpike_endpoints_count").contains(
                #"turnpike_endpoints_count{\#(labels),state="usable"} 3"#))
    }

    @Test("A success between failures begins the count anew")
    func interrupted() async throws {
        let (client, gate) = client(2, EndpointHealth(consecutiveFailures: 3))
        for _ in 0..<5 {
            servers.set([0], .status(500))
            await client.send(4)
            servers.set([0], nil)
            await client.send(2)
        }
        #expect(gate.numbers(.ejected) == [])
    }

    @Test("Each ejection that follows soon is twice as long, up to the longest")
    func doubling() async throws {
        servers.set([0], .connectionRefused)
        let health = EndpointHealth(
            interval: .seconds(10_000), ejection: .seconds(5), maxEjection: .seconds(30),
            slowStart: .zero)
        let (client, gate) = client(2, health)
        await client.send(10)
        for seconds in [5, 10, 20, 30, 30] {
            #expect(gate.numbers(.ejected) == [0])
            clock.advance(by: .seconds(seconds) - .milliseconds(1))
            await client.send(4)
            #expect(gate.numbers(.ejected) == [0], "\(seconds)")
            clock.advance(by: .milliseconds(1))
            let before = servers.sent.count
            await client.send(4)
            // One failure is enough after a return.
            #expect(servers.sent.dropFirst(before).count { $0 == 0 } == 1)
        }
        clock.advance(by: .seconds(30))
        servers.set([0], nil)
        await client.send(4)
        #expect(gate.numbers(.ejected) == [])
        // An interval without an ejection takes one of the doublings back.
        let record = gate.members[0].health
        for _ in 0..<10 { _ = record.takeWindow(since: clock.now) }
        #expect(record.eject(at: clock.now, health) == .seconds(5))
    }

    @Test("At most the share is ejected, but always one of two or more, and never all")
    func bounds() async throws {
        let cases: [(Int, Double, Int)] = [
            (1, 1, 0), (2, 0.1, 1), (2, 1, 1), (3, 0.1, 1), (3, 1, 2), (10, 0.1, 1), (10, 0.25, 2),
            (10, 0.5, 5), (10, 1, 9), (10, 0, 0), (10, .nan, 0), (10, -1, 0), (10, 7, 9),
        ]
        for (count, share, most) in cases {
            let servers = EndpointServers(.status(503))
            let gate = Endpoints(
                for: "users.internal",
                from: ScriptedResolver(Endpoint.first(count), freshFor: nil),
                health: EndpointHealth(consecutiveFailures: 1, maxEjected: share))
            let client = Client(servers.transport, clock: clock, [gate])
            await client.send(100)
            #expect(gate.numbers(.ejected).count == most, "\(share) of \(count)")
            #expect(servers.sent.count == 100)
        }
    }

    @Test("When the list shrinks to the ejected, those return whose ejections end first")
    func shrinking() async throws {
        servers.set(0..<2, .status(503))
        let resolver = ScriptedResolver(Endpoint.first(4))
        let gate = Endpoints(
            for: "users.internal", from: resolver, policy: .roundRobin,
            health: EndpointHealth(consecutiveFailures: 1, ejection: .seconds(100)))
        let client = Client(servers.transport, clock: clock, [gate])
        await client.send(8)
        #expect(gate.numbers(.ejected).count == 2)
        resolver.set { _, _ in EndpointList(Endpoint.first(2)) }
        clock.advance(by: .seconds(1))
        await client.send(1)
        try await until("the new list") { gate.members.count == 2 }
        #expect(gate.numbers(.ejected).count == 1)
    }

    @Test("What was sent before an ejection says nothing after it")
    func late() async throws {
        servers.set([0], .status(503).delayed(by: .seconds(20)))
        let health = EndpointHealth(consecutiveFailures: 1, interval: .seconds(1000))
        let (client, gate) = client(2, health)
        let early = Task { await client.send(2) }
        try await clock.waitForTimer(in: .seconds(20))
        clock.advance(by: .seconds(1))
        servers.set([0], .status(503))
        await client.send(2)
        #expect(gate.numbers(.ejected) == [0])
        clock.advance(by: .seconds(6))
        servers.set([0], nil)
        await client.send(2)
        #expect(gate.numbers(.ejected) == [])
        clock.advance(by: .seconds(20))
        await early.value
        #expect(gate.numbers(.ejected) == [])
    }

    // MARK: What counts

    @Test("A body that breaks off and the time limit of an attempt count; a deadline does not")
    func outcomes() async throws {
        let health = EndpointHealth(consecutiveFailures: 1)
        servers.set(
            [0], .stream([Data("a".utf8)], thenThrow: ClientError(.incomplete, "cut")))
        let (cut, cutGate) = client(2, health)
        await cut.send(2)
        #expect(cutGate.numbers(.ejected) == [0])

        servers.set([0], .ok().delayed(by: .seconds(100)))
        for (limit, count) in [
            (AttemptTimeout(.seconds(1)) as any Gate, 1), (Deadline(.seconds(1)), 0),
        ] {
            let gate = Endpoints(
                for: "users.internal", from: ScriptedResolver(Endpoint.first(2), freshFor: nil),
                policy: .roundRobin, health: health)
            let client = Client(servers.transport, clock: clock, [limit, gate])
            let calls = Task { await client.send(2) }
            try await clock.waitForTimer(in: .seconds(1))
            try await clock.waitForTimer(in: .seconds(100))
            clock.advance(by: .seconds(1))
            await calls.value
            #expect(gate.numbers(.ejected).count == count)
            #expect(gate.underWay == 0)
        }
    }

    @Test("The user's rule decides what is a failure")
    func verdict() async throws {
        servers.set([0], .status(404))
        servers.set([1], .status(500))
        let (client, gate) = client(3, EndpointHealth(consecutiveFailures: 1)) { outcome in
            outcome.status == 404 ? .failure : outcome.status == 500 ? .ignored : .success
        }
        await client.send(9)
        #expect(gate.numbers(.ejected) == [0])
    }

    @Test("Nothing is ejected when health is off")
    func off() async throws {
        servers.set([0], .status(500))
        let (client, gate) = client(2, .off)
        await client.send(100)
        clock.advance(by: .seconds(100))
        await client.send(100)
        #expect(gate.numbers(.usable) == [0, 1])
        #expect(servers.sent.count { $0 == 0 } == 100)
    }

    // MARK: Success ratios

    @Test("An endpoint that fails half of its requests is ejected at the end of the interval")
    func ratio() async throws {
        servers.set([0], .status(500))
        let (client, gate) = client(4, EndpointHealth())
        for number in 0..<40 {
            servers.set([0], number % 2 == 0 ? .status(500) : nil)
            await client.send(4)
        }
        #expect(gate.numbers(.ejected) == [])
        clock.advance(by: .seconds(10))
        await client.send(1)
        #expect(gate.numbers(.ejected) == [0])
        #expect(
            logger.all.contains {
                $0.contains("20 failures of 40 requests, a larger share than that of the")
            })
        #expect(
            lines("turnpike_endpoints_ejections").contains {
                $0.contains(#"reason="success_ratio""#) && $0.hasSuffix(" 1")
            })
    }

    private func outliers(
        _ ratios: [Double], of count: Int = 100, minimum: Int = 20, deviations: Double = 3
    ) -> [Int] {
        let all = ratios.map { ratio in
            let good = Int((ratio * Double(count)).rounded())
            return EndpointOutcomes(successes: good, failures: count - good)
        }
        return EndpointOutcomes.outliers(among: all, minimum: minimum, deviations: deviations)
    }

    @Test("Those far below the others are outliers, and no others")
    func outliers() {
        #expect(outliers([1, 1, 1]) == [])
        #expect(outliers([1, 0.5]) == [1])
        #expect(outliers([1, 1, 1, 1, 0.5]) == [4], "one of five, which Envoy cannot find")
        #expect(outliers([0.5, 0.5, 0.5, 0.5]) == [], "all fail alike")
        #expect(outliers([1, 1, 1, 0.92]) == [], "less than a tenth")
        #expect(outliers([0.7, 0.8, 0.6, 0.9, 0.55]) == [], "they differ as much among themselves")
        #expect(outliers([0, 1, 1, 1, 1, 1, 1, 1, 1, 0.3]) == [0, 9], "the worst first")
        #expect(outliers([1, 0.5], of: 19) == [], "too few requests")
        #expect(outliers([0.9, 0.75, 0.9], of: 20) == [], "chance")
        #expect(outliers([1, 0.5], deviations: .infinity) == [])
        #expect(outliers([1, 0.5], deviations: .nan) == [])
        #expect(outliers([]) == [])
        #expect(outliers([0.5]) == [])
    }

    // MARK: Many

    @Test("With thousands of endpoints, a view is made anew at most in a share of the time")
    func putOff() async throws {
        servers.set(0..<1000, .status(503))
        let (client, gate) = client(2000, EndpointHealth(consecutiveFailures: 1))
        // The first failure makes a view, in which the turns begin at another place.
        await client.send(3000)
        #expect(gate.numbers(.ejected).count == 1000)
        let before = servers.sent.count
        clock.advance(by: .milliseconds(20))
        await client.send(1000)
        #expect(servers.sent.dropFirst(before).allSatisfy { $0.map { $0 >= 1000 } ?? false })
    }
}
