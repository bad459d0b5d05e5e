// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

extension MetricsStore {
    /// The sum of a figure over all series with some labels.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        figures.filter { figure, _ in
            figure.name == name && labels.allSatisfy { figure.labels[$0.key] == $0.value }
        }
        .reduce(0) { $0 + $1.value }
    }

    /// The connections in a state.
    func open(_ state: String, _ labels: [String: String] = [:]) -> Double {
        sum(
            "http.client.open_connections",
            labels.merging(["http.connection.state": state]) { $1 })
    }

    /// A counter of connections.
    func connections(_ name: String) -> Double { sum("turnpike.connections." + name) }

    /// The connections whose duration was recorded.
    var endedConnections: Int {
        histograms.filter { $0.key.name == "http.client.connection.duration" }.values
            .reduce(0) { $0 + $1.count }
    }
}

@Suite("Figures of the pool")
struct CurlPoolTests {
    private let store = MetricsStore()

    private func fixture(
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> CurlFixture {
        try CurlFixture { configuration in
            configuration.meter = store
            configure(&configuration)
        }
    }

    private func expectNothingOpen() {
        #expect(store.open("active") == 0)
        #expect(store.open("idle") == 0)
        #expect(store.connections("opened") == store.connections("closed"))
        #expect(Double(store.endedConnections) == store.connections("closed"))
    }

    @Test("A connection is active, idle, used again, and gone at the shutdown")
    func life() async throws {
        let fixture = try fixture()
        let hold = TestHold()
        fixture.server.route("/", .ok(text: "x").held(by: hold))
        let port = String(fixture.server.port)
        let labels = [
            "server.address": "127.0.0.1", "server.port": port, "network.peer.address": "127.0.0.1",
            "network.peer.port": port,
        ]
        async let first = fixture.client.get("/").string()
        try await until("an active connection") { store.open("active", labels) == 1 }
        #expect(
            fixture.client.transport.liveFigures == [
                LiveFigure("exchanges", "1 under way"),
                LiveFigure("connections", "1 open, 1 active"),
            ])
        hold.open()
        #expect(try await first == "x")
        try await until("an idle connection") {
            store.open("idle", labels) == 1 && store.open("active", labels) == 0
        }
        for _ in 0..<10 { #expect(try await fixture.client.get("/").string() == "x") }
        await fixture.client.shutdown()
        #expect(store.connections("opened") == 1)
        #expect(store.connections("reused") == 10)
        expectNothingOpen()
    }

    @Test("What is told adds up with what the server sees, over many calls at once")
    func many() async throws {
        let fixture = try fixture {
            $0.maxConnectionsPerHost = 8
            $0.engines = 2
        }
        fixture.server.fallback(.ok(text: "x"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask { _ = try await fixture.client.get("\(number)").string() }
            }
            try await group.waitForAll()
        }
        await fixture.client.shutdown()
        #expect(store.connections("opened") == Double(fixture.server.counts.accepted))
        #expect(store.connections("opened") + store.connections("reused") == 200)
        expectNothingOpen()
    }

    @Test(
        "Faults, dead connections and cancellations leave nothing in the gauges",
        arguments: ["reset", "close", "cut", "dead", "cancel", "silence"])
    func faults(kind: String) async throws {
        let fixture = try fixture()
        let answer: TestAnswer =
            switch kind {
            case "reset": .reset
            case "close": .close
            case "cut": .bytes(100_000).cut(after: 5000)
            case "dead": .ok(text: "x").thenClose()
            case "cancel": .bytes(10_000_000)
            default: .silence
            }
        fixture.server.fallback(answer)
        for number in 0..<20 {
            switch kind {
            case "cancel":
                let response = try await fixture.client.get("\(number)").response()
                response.body.cancel()
            case "silence":
                let task = Task { try await fixture.client.get("\(number)").data() }
                try await fixture.server.waitForRequests(number + 1)
                task.cancel()
                _ = try? await task.value
            default: _ = try? await fixture.client.get("\(number)").data()
            }
        }
        try await until("no active connection") { store.open("active") == 0 }
        await fixture.client.shutdown()
        expectNothingOpen()
        // One may come while the test ends it.
        #expect(store.connections("opened") <= Double(fixture.server.counts.accepted))
        #expect(store.connections("opened") >= 1)
    }

    @Test("A body that its reader lets wait keeps its connection active")
    func paused() async throws {
        let fixture = try fixture()
        fixture.server.route("/large", .bytes(3_000_000))
        let large = try await fixture.client.get("large").response()
        try await until("an active connection") { store.open("active") == 1 }
        #expect(try await large.body.collect(upTo: 3_000_000).count == 3_000_000)
        try await until("an idle connection") { store.open("idle") == 1 }
        #expect(store.open("active") == 0)
    }

    @Test("A connection that was never made counts nowhere")
    func refused() async throws {
        let fixture = try fixture()
        for _ in 0..<3 { _ = try? await fixture.client.get("http://127.0.0.1:1/").data() }
        await fixture.client.shutdown()
        #expect(store.connections("opened") == 0)
        #expect(store.figures.values.allSatisfy { $0 == 0 })
    }

    @Test("A transport that is let go of takes its part back")
    func dropped() async throws {
        do {
            let fixture = try fixture()
            fixture.server.route("/", .ok(text: "x"))
            _ = try await fixture.client.get("/").string()
        }
        try await until("no connection") {
            store.connections("closed") == 1 && store.open("idle") == 0
        }
        expectNothingOpen()
    }

    @Test("A Unix socket is a peer by its path")
    func unixSocket() async throws {
        let server = try UnixServer()
        defer { server.stop() }
        let fixture = try fixture { $0.unixSocket = server.path }
        for _ in 0..<3 { _ = try await fixture.client.get("http://docker/info").string() }
        await fixture.client.shutdown()
        #expect(store.connections("opened") == 3)
        #expect(
            store.sum("turnpike.connections.opened", ["network.peer.address": server.path]) == 3)
        expectNothingOpen()
    }

    @Test("Each figure has a help text, and the histogram its unit")
    func help() async throws {
        let fixture = try fixture()
        fixture.server.route("/", .ok(text: "x"))
        for _ in 0..<2 { _ = try await fixture.client.get("/").string() }
        await fixture.client.shutdown()
        let text = store.prometheusText
        #expect(!text.contains("does not describe"))
        for name in [
            "http_client_open_connections gauge",
            "http_client_connection_duration_seconds histogram",
            "turnpike_connections_opened_total counter",
            "turnpike_connections_closed_total counter",
            "turnpike_connections_reused_total counter",
        ] { #expect(text.contains("# TYPE \(name)\n"), "\(name)") }
        #expect(text.contains("http_client_connection_duration_seconds_count{"))
    }

    @Test("A connection that is too old is not used again, and a younger one is")
    func age() async throws {
        let fixture = try fixture { $0.maxConnectionAge = .seconds(1) }
        fixture.server.route("/", .ok(text: "x"))
        try await eventually("another connection") {
            let text = try await fixture.client.get("/").string()
            #expect(text == "x")
            return fixture.server.counts.accepted >= Runs.size(2, all: 3)
        }
        let other = try self.fixture { $0.maxConnectionAge = .seconds(3600) }
        other.server.route("/", .ok(text: "x"))
        for _ in 0..<10 { _ = try await other.client.get("/").string() }
        #expect(other.server.counts.accepted == 1)
    }

    @Test("Idle connections are closed though no request comes any more")
    func idle() async throws {
        let fixture = try fixture { $0.idleConnectionTimeout = .seconds(1) }
        let hold = TestHold()
        fixture.server.route("/", .ok(text: "x").held(by: hold))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = try await fixture.client.get("/").string() } }
            try await fixture.server.wait { $0.requests == 3 }
            hold.open()
            try await group.waitForAll()
        }
        try await fixture.server.wait { $0.open == 0 }
        try await until("no idle connection") { store.open("idle") == 0 }
        #expect(store.connections("closed") == 3)
        #expect(try await fixture.client.get("/").string() == "x")
        #expect(fixture.server.counts.accepted == 4)
        await fixture.client.shutdown()
        expectNothingOpen()
    }

    // With libcurl 8.14 it failed in one run of four while the transport paused transfers from outside of a callback: libcurl
    // then wanted to be called without a pause.
    @Test(
        "Responses that nobody reads are not interrupted, and keep no idle connection open", .long)
    func busy() async throws {
        let fixture = try fixture { $0.idleConnectionTimeout = .seconds(1) }
        let chunks = Array(repeating: Data(count: 12_000), count: 1024)
        fixture.server.route("/large", .chunked(chunks))
        fixture.server.route("/", .ok(text: "x"))
        let large = try await withThrowingTaskGroup(of: Response.self) { group in
            for _ in 0..<8 { group.addTask { try await fixture.client.get("large").response() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        _ = try await fixture.client.get("/").string()
        // The other connection goes, and these have been paused for as long.
        try await fixture.server.wait { $0.open == 8 }
        for response in large {
            #expect(response.body.arrival == .underWay)
            #expect(try await response.body.collect(upTo: 20_000_000).count == 1024 * 12_000)
        }
    }

    @Test("Addresses of a name are tried in an order that differs, if that is asked for")
    func shuffle() async throws {
        let server = try TestServer()
        server.route("/", .ok(text: "x"))
        // It answers at each address of this machine.
        let proxy = try ProxyServer(to: server.port)
        defer { proxy.stop() }
        var first: Set<String> = []
        for _ in 0..<40 where first.count < 2 {
            var configuration = CurlTransport.Configuration()
            configuration.shufflesAddresses = true
            configuration.overrides = [
                .init(
                    host: "api.invalid", port: proxy.port,
                    addresses: (1...4).map { "127.0.0.\($0)" })
            ]
            let transport = try CurlTransport(configuration: configuration)
            let client = Client(transport: transport, stack: [])
            let response = try await client.get("http://api.invalid:\(proxy.port)/").response()
            first.insert(response.timeline.peerAddress ?? "")
            await client.shutdown()
        }
        #expect(first.count == 2)
    }
}
