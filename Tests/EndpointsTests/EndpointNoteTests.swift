// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

/// Why an endpoint that fails or is slow still gets requests.
@Suite("What is told of endpoints")
struct EndpointNoteTests {
    private let clock = ManualClock()

    @Test("An endpoint that fails and stays in use has a note and a figure that say why")
    func spared() async throws {
        for (count, why) in [
            (2, "1 of 2 endpoints are ejected, which is the limit"), (1, "it is the only endpoint"),
        ] {
            let servers = EndpointServers(.status(503))
            let (logger, store) = (NoteLogger(), MetricsStore())
            let gate = Endpoints(
                for: "users.internal",
                from: ScriptedResolver(Endpoint.first(count), freshFor: nil), policy: .roundRobin,
                health: EndpointHealth(consecutiveFailures: 1), meter: store)
            let client = Client(servers.transport, clock: clock, [logger, gate])
            await client.send(count - 1)
            await client.send(2)
            let kept = servers.sent.last.flatMap { $0 } ?? -1
            let note = "10.0.0.\(kept + 1):8080 stays in use after 1 failure in a row: \(why)"
            #expect(logger.all.contains(note), "\(logger.all)")
            #expect(
                store.prometheusText.contains(
                    #"turnpike_endpoints_spared_total{server_address="users.internal"} 2"#))
        }
        // Whoever turns ejections off is not told of them.
        let servers = EndpointServers(.status(503))
        let logger = NoteLogger()
        let gate = Endpoints(
            for: "users.internal", from: ScriptedResolver(Endpoint.first(2), freshFor: nil),
            health: .off)
        await Client(servers.transport, clock: clock, [logger, gate]).send(12)
        #expect(!logger.all.contains { $0.contains("stays in use") })
    }

    @Test("A note says that an endpoint has returned a short time ago, and how slow it answers")
    func slow() async throws {
        let servers = EndpointServers()
        servers.set([0], .status(500))
        let logger = NoteLogger()
        let gate = Endpoints(
            for: "users.internal", from: ScriptedResolver(Endpoint.first(2), freshFor: nil),
            policy: .roundRobin,
            health: EndpointHealth(consecutiveFailures: 1, slowStart: .seconds(30)))
        let client = Client(servers.transport, clock: clock, [logger, gate])
        await client.send(2)
        servers.set([0], nil)
        clock.advance(by: .seconds(5))
        await client.send(1)
        clock.advance(by: .seconds(15))
        await client.send(40)
        #expect(logger.all.contains("10.0.0.1:8080 (0 under way; in its slow start)"))
        clock.advance(by: .seconds(15))
        servers.set([0], .ok().delayed(by: .milliseconds(1900)))
        async let call: Void = client.send(2)
        try await clock.waitForTimer(in: .milliseconds(1900))
        clock.advance(by: .milliseconds(1900))
        await call
        servers.set([0], nil)
        await client.send(2)
        #expect(logger.all.contains("10.0.0.1:8080 (0 under way; answers in 1.9 s)"))
    }
}
