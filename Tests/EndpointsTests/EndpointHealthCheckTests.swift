// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Checks of endpoints")
struct EndpointHealthCheckTests {
    private let clock = ManualClock()
    private let servers = EndpointServers()
    private let logger = NoteLogger()
    private let store = MetricsStore()

    private func gate(
        _ resolver: ScriptedResolver, interval: Duration = .seconds(10),
        maxEjected: Double = 0.5
    ) -> Endpoints {
        let check = EndpointHealthCheck(path: "/health?full=1", interval: interval)
        return Endpoints(
            for: "users.internal", from: resolver, policy: .roundRobin,
            health: EndpointHealth(maxEjected: maxEjected, check: check), meter: store)
    }

    private var checked: [Int?] {
        servers.requests.filter { $0.url.path() == "/health" }.map(\.endpoint)
    }

    /// Lets time pass until so many checks have been sent and answered.
    private func checks(_ count: Int) async throws {
        let wanted = checked.count + count
        try await until("\(wanted) checks; there are \(checked.count)") {
            if checked.count >= wanted { return true }
            // The loop waits for a timer, which it sets again after each round.
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
    }

    @Test("A check is a GET for the path at the logical origin, and passes no gate")
    func request() async throws {
        let seen = Tally()
        let gate = gate(ScriptedResolver([.at(0)], freshFor: nil))
        let counting = Around { request, _, next in
            seen.add()
            return try await next(request)
        }
        let client = Client(
            servers.transport, clock: clock,
            [counting, gate, .setHeaders(["Authorization": "Bearer x"])])
        await client.send(1)
        try await checks(3)
        #expect(seen.count == 1)
        let request = try #require(servers.requests.last)
        #expect(request.method == .get)
        #expect(request.url.absoluteString == "http://users.internal/health?full=1")
        #expect(request.endpoint == 0)
        #expect(request.headers["Authorization"] == nil)
        #expect(gate.underWay == 0)
        await client.shutdown()
    }

    @Test("An endpoint whose checks fail is left out, and used again once they succeed")
    func downAndUp() async throws {
        let gate = gate(ScriptedResolver(Endpoint.first(3), freshFor: nil))
        let client = Client(servers.transport, clock: clock, [logger, gate])
        await client.send(3)
        servers.set([1], .status(503))
        try await until("the endpoint down") {
            if gate.numbers(.down) == [1] { return true }
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
        #expect(checked.count { $0 == 1 } == 3)
        let before = servers.requests.count
        await client.send(6)
        let calls = servers.requests.dropFirst(before).filter { $0.url.path() == "/x" }
        #expect(calls.count == 6 && calls.allSatisfy { $0.endpoint != 1 })
        #expect(logger.all.contains("10.0.0.2:8080 is down: its checks fail"))
        #expect(
            store.prometheusText.contains(
                #"turnpike_endpoints_ejections_total{reason="check",server_address="users.internal"} 1"#
            ))
        servers.set([1], nil)
        try await until("the endpoint up") {
            if gate.numbers(.usable) == [0, 1, 2] { return true }
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
        await client.send(1)
        #expect(logger.all.contains("10.0.0.2:8080 is used again: its checks succeed"))
        await client.shutdown()
    }

    @Test("If fewer than half are well by their checks, all are used again")
    func panic() async throws {
        let gate = gate(ScriptedResolver(Endpoint.first(4), freshFor: nil))
        let client = Client(servers.transport, clock: clock, [logger, gate])
        await client.send(1)
        servers.set(0..<3, .connectionRefused)
        try await until("three down") {
            if gate.numbers(.down) == [0, 1, 2] { return true }
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
        servers.set(0..<3, nil)
        let before = servers.requests.count
        await client.send(4)
        let calls = servers.requests.dropFirst(before).filter { $0.url.path() == "/x" }
        #expect(Set(calls.map(\.endpoint)) == [0, 1, 2, 3])
        #expect(
            store.prometheusText.contains(
                #"turnpike_endpoints_panics_total{server_address="users.internal"} 4"#))
        let down =
            "10.0.0.2:8080 (0 under way; down; too few endpoints are healthy, and all"
            + " are used)"
        #expect(logger.all.contains(down), "\(logger.all)")
        await client.shutdown()
    }

    @Test("A check that takes too long fails, and only one is under way to an endpoint")
    func timeout() async throws {
        servers.set([0], .ok().delayed(by: .seconds(1000)))
        let gate = gate(ScriptedResolver(Endpoint.first(2), freshFor: nil), interval: .seconds(1))
        let client = Client(servers.transport, clock: clock, [gate])
        let call = Task { await client.send(2) }
        try await until("the endpoint down") {
            if gate.numbers(.down) == [0] { return true }
            if clock.timerCount > 0, checked.count < 1000 { clock.advance(by: .milliseconds(100)) }
            return false
        }
        client.cancelAll()
        await call.value
        await client.shutdown()
        try await until("no timer") { clock.timerCount == 0 }
    }

    @Test("A shutdown ends the checks, also one that is under way")
    func shutdown() async throws {
        let gate = gate(ScriptedResolver(Endpoint.first(2), freshFor: nil))
        let client = Client(servers.transport, clock: clock, [gate])
        await client.send(1)
        servers.set(0..<2, .ok().delayed(by: .seconds(1)))
        try await checks(1)
        await client.shutdown()
        try await until("no timer") { clock.timerCount == 0 }
        #expect(gate.numbers(.usable) == [0, 1])
    }

    @Test("The checks end when nothing holds the client any more, and hold its transport no longer")
    func released() async throws {
        weak var transport: MockTransport?
        try await { () async throws in
            let gate = gate(ScriptedResolver(Endpoint.first(2), freshFor: nil))
            let mock = servers.transport
            transport = mock
            let client = Client(mock, clock: clock, [gate])
            await client.send(1)
            try await checks(3)
        }()
        try await until("no timer") { clock.timerCount == 0 }
        try await until("the transport released") { transport == nil }
    }

    @Test("The checks of an endpoint that leaves the list end; a new one is checked")
    func leaves() async throws {
        let resolver = ScriptedResolver([.at(0), .at(1)])
        let gate = gate(resolver)
        let client = Client(servers.transport, clock: clock, [gate])
        await client.send(1)
        resolver.set { _, _ in EndpointList([.at(1), .at(2)]) }
        clock.advance(by: .seconds(1))
        await client.send(1)
        try await until("the new list") { gate.members.last?.endpoint == .at(2) }
        // A check that is due when the list comes may still be sent.
        try await checks(2)
        let before = checked.count
        // Each endpoint has a task of its own, so one may be checked more often than the other.
        try await until("checks of both") {
            if Set(checked.dropFirst(before)).isSuperset(of: [1, 2]) { return true }
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
        try await checks(6)
        #expect(Set(checked.dropFirst(before)) == [1, 2])
        await client.shutdown()
    }

    @Test("After a change of the stack, checks go over its transport")
    func replaced() async throws {
        let gate = gate(ScriptedResolver([.at(0)], freshFor: nil))
        let others = EndpointServers()
        let client = Client(servers.transport, clock: clock, [gate])
        await client.send(1)
        try await checks(1)
        client.replace(stack: [gate], transport: others.transport)
        await client.send(1)
        let before = checked.count
        try await until("checks over the other transport") {
            if others.requests.count(where: { $0.url.path() == "/health" }) >= 3 { return true }
            if clock.timerCount > 0 { clock.advanceToNextTimer() }
            return false
        }
        #expect(checked.count <= before + 1)
        await client.shutdown()
    }
}
