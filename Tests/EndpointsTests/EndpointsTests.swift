// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Endpoints")
struct EndpointsTests {
    private let clock = ManualClock()
    private let servers = EndpointServers()

    private func gate(
        _ count: Int, policy: BalancingPolicy = .leastRequests, for host: String = "users.internal"
    ) -> Endpoints {
        Endpoints(
            for: host, from: ScriptedResolver(Endpoint.first(count), freshFor: nil),
            policy: policy)
    }

    // MARK: Requests

    @Test("A request keeps its URL, and its connection goes to an endpoint of the list")
    func target() async throws {
        let client = Client(servers.transport, clock: clock, [gate(3)])
        #expect(try await client.get(service).serialize(with: Text()) == "well")
        let request = try #require(servers.requests.first)
        #expect(request.url.absoluteString == "http://users.internal/x")
        #expect(try (0..<3).contains(#require(request.endpoint)))
    }

    @Test("The name has a port or none, and both schemes match")
    func names() async throws {
        let matching = [
            ("users.internal", "http://users.internal/", true),
            ("users.internal", "https://USERS.internal:8443/", true),
            ("Users.Internal:8080", "http://users.internal:8080/", true),
            ("users.internal:8080", "http://users.internal/", false),
            ("users.internal:80", "http://users.internal/", true),
            ("users.internal:80", "https://users.internal/", false),
            ("users.internal", "http://other.internal/", false),
            ("[::1]:80", "http://[::1]/", true), ("[::1]", "http://[::1]:81/", true),
        ]
        for (name, url, isMatch) in matching {
            let servers = EndpointServers()
            let client = Client(servers.transport, clock: clock, [gate(1, for: name)])
            _ = try await client.get(Target(url)).response()
            #expect(servers.sent == [isMatch ? 0 : nil], "\(name) \(url)")
            let request = Request(.get, Target(url))
            #expect((gate(1, for: name).facts(for: request)?.passedOver == nil) == isMatch)
        }
    }

    @Test(
        "A name that is none fails each call with what was found and expected",
        arguments: ["", "http://a", "a b", "a/b", "user@a", "a:99999", "a:x", "a?b"])
    func badName(_ name: String) async throws {
        let client = Client(servers.transport, clock: clock, [gate(1, for: name)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(service).response()
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("found \"\(name)\"") == true)
        #expect(servers.sent.isEmpty)
    }

    @Test("A request with a connect target of its own keeps it")
    func ownTarget() async throws {
        let client = Client(servers.transport, clock: clock, [gate(1)])
        var request = Request(.get, service)
        request.options.connectTarget = Endpoint.at(7).target
        _ = try await client.request(request).response()
        #expect(servers.sent == [7])
    }

    @Test("A transport that cannot connect elsewhere is a fault of the client")
    func capability() async throws {
        let transport = MockTransport(capabilities: []) { _ in .ok() }
        let client = Client(transport, clock: clock, [gate(1)])
        #expect(client.fault?.code == .unsupported)
        #expect(client.fault?.message.contains("Endpoints needs connect targets") == true)
    }

    // MARK: Attempts

    @Test("A retry goes to the endpoints that its call has not tried, and then to any")
    func retries() async throws {
        servers.set(0..<3, .status(503))
        let client = Client(
            servers.transport, clock: clock,
            [
                .retry(attempts: 5, backoff: .constant(.zero), budget: nil),
                Endpoints(
                    for: "users.internal",
                    from: ScriptedResolver(Endpoint.first(3), freshFor: nil), health: .off),
            ])
        _ = try await client.get(service).response()
        #expect(servers.sent.count == 5)
        #expect(Set(servers.sent.prefix(3)) == [0, 1, 2])
    }

    @Test("A hedge goes to another endpoint than the one that is late")
    func hedges() async throws {
        servers.set(0..<2, .ok(text: "late").delayed(by: .seconds(5)))
        let gate = gate(2)
        let client = Client(
            servers.transport, clock: clock, [.hedge(after: .seconds(1), budget: nil), gate])
        async let answer = client.get(service).serialize(with: Text())
        try await servers.waitForSends(1)
        #expect(gate.underWay == 1)
        try await clock.waitForTimer(in: .seconds(1))
        try await clock.waitForTimer(in: .seconds(5))
        clock.advance(by: .seconds(1))
        try await servers.waitForSends(2)
        try await clock.waitForTimer(in: .seconds(4))
        #expect(gate.underWay == 2)
        clock.advance(by: .seconds(4))
        #expect(try await answer == "late")
        #expect(Set(servers.sent) == [0, 1])
        try await until("no request under way") { gate.underWay == 0 }
    }

    // MARK: Under way

    @Test("A request is under way until its body was read, dropped or cancelled, or broke off")
    func bodies() async throws {
        let chunks = [Data("a".utf8), Data("b".utf8)]
        servers.set([0], .stream(chunks, thenThrow: nil))
        let gate = gate(1)
        let client = Client(servers.transport, clock: clock, [gate])

        let read = try await client.get(service).response()
        #expect(gate.underWay == 1)
        _ = try await read.body.collect(upTo: 10)
        #expect(gate.underWay == 0)

        var dropped: Response? = try await client.get(service).response()
        #expect(dropped != nil && gate.underWay == 1)
        dropped = nil
        #expect(gate.underWay == 0)

        let cancelled = try await client.get(service).response()
        #expect(gate.underWay == 1)
        cancelled.body.cancel()
        #expect(gate.underWay == 0)

        servers.set([0], .stream(chunks, thenThrow: ClientError(.incomplete, "cut")))
        let broken = try await client.get(service).response()
        #expect(gate.underWay == 1)
        await expectError(.incomplete) { try await broken.body.collect(upTo: 10) }
        #expect(gate.underWay == 0)

        servers.set([0], .connectionRefused)
        #expect(await code(of: client.get(service)) == .connection)
        #expect(gate.underWay == 0)
    }

    @Test("A bad status counts as a failure at once, and as under way until its body has ended")
    func badStatus() async throws {
        servers.set([0], .stream([Data("a".utf8)], status: .serviceUnavailable))
        let gate = Endpoints(
            for: "users.internal", from: ScriptedResolver(Endpoint.first(2), freshFor: nil),
            policy: .roundRobin, health: EndpointHealth(consecutiveFailures: 1))
        let client = Client(servers.transport, clock: clock, [gate])
        var held: [Response] = []
        for _ in 0..<2 { held.append(try await client.get(service).response()) }
        #expect(gate.numbers(.ejected) == [0])
        #expect(gate.underWay == 2)
        for response in held { _ = try await response.body.collect(upTo: 10) }
        #expect(gate.underWay == 0)
    }

    @Test("A cancelled request is no longer under way, and says nothing about its endpoint")
    func cancelled() async throws {
        servers.set([0], .ok().delayed(by: .seconds(1000)))
        let gate = Endpoints(
            for: "users.internal", from: ScriptedResolver(Endpoint.first(1), freshFor: nil),
            health: EndpointHealth(consecutiveFailures: 1))
        let client = Client(servers.transport, clock: clock, [gate])
        let task = Task { try await client.get(service).response() }
        try await servers.waitForSends(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(gate.underWay == 0)
        #expect(gate.numbers(.usable) == [0])
    }

    // MARK: What is told

    @Test("A logger hears which endpoint was chosen, and why")
    func notes() async throws {
        let logger = NoteLogger()
        let resolver = ScriptedResolver([.at(0, zone: "a")], freshFor: nil)
        let gate = Endpoints(for: "users.internal", from: resolver, zone: EndpointZone("b"))
        let client = Client(
            servers.transport, clock: clock,
            [logger, .retry(attempts: 2, backoff: .constant(.zero), budget: nil), gate])
        servers.set([0], .status(503))
        async let answer = client.get(service).response()
        _ = try await answer
        let endpoint = "10.0.0.1:8080 (0 under way; zone a"
        #expect(
            logger.all.filter { $0.hasPrefix("10.") } == [
                "\(endpoint); in another zone)", "\(endpoint); all were tried)",
            ])
    }

    @Test("A trace shows which endpoint was chosen, and why")
    func trace() async throws {
        let store = TraceStore(sampling: 1)
        let client = Client(
            transport: servers.transport, stack: [gate(1)], serializers: SerializerTable(),
            trace: store, timeSource: clock)
        _ = try await client.get(service).serialize(with: Text())
        let names = store.traces.first?.spans.map(\.name) ?? []
        #expect(names.contains("Endpoints: 10.0.0.1:8080 (0 under way)"), "\(names)")
    }

    @Test("The facts say that the gate may wait and refuse, and stands inside a retry")
    func facts() throws {
        let facts = try #require(gate(1).facts(for: nil))
        #expect(
            facts.effects == [
                .choosesEndpoint(for: "users.internal"),
                .waits(atMost: .seconds(10), reason: "the first list of endpoints"),
                .answers(.refusal),
            ])
        #expect(facts.order.map(\.kind) == [.retry, .hedge, .circuitBreaker, .redirect])
        #expect(facts.summary.contains("users.internal"))
        #expect(facts.summary.contains("leastRequests"))
    }

    @Test("The facts say where the endpoints come from")
    func source() throws {
        func summary(_ resolver: any EndpointResolver) -> String {
            Endpoints(for: "a.internal", from: resolver).facts(for: nil)?.summary ?? ""
        }
        let start = "sends each request for a.internal to "
        let end = ", by leastRequests"
        #expect(
            summary(.list(["a:1", "b:1"])) == start + "one of the 2 endpoints of its list" + end)
        #expect(summary(.list(["a:1"])) == start + "the one endpoint of its list" + end)
        #expect(
            summary(.file("/run/a.json")) == start + "one of the endpoints in /run/a.json" + end)
        #expect(summary(.dns("b.internal", port: 1)).contains("the addresses of b.internal"))
        #expect(summary(.list(["a"])).contains("whose list has mistakes"))
        #expect(summary(Registry()) == start + "one of the replicas in the registry" + end)
        #expect(summary(ScriptedResolver([])) == start + "one of its endpoints" + end)
    }
}

/// A resolver of a stranger, which says where it looks.
private struct Registry: EndpointResolver {
    var summary: String { "one of the replicas in the registry" }

    func endpoints(in context: Context) async throws -> EndpointList { EndpointList([]) }
}
