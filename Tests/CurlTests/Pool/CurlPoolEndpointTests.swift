// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("The pool with connect targets and address rules")
struct CurlPoolEndpointTests {
    private let store = MetricsStore()

    private func transport(
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.meter = store
        configure(&configuration)
        return try CurlTransport(configuration: configuration)
    }

    private func servers(_ count: Int) throws -> [TestServer] {
        try (0..<count).map { _ in
            let server = try TestServer()
            server.fallback(.ok(text: "x"))
            return server
        }
    }

    private func request(
        _ url: String, at target: ConnectTarget? = nil, _ rule: AddressRule? = nil
    ) -> Request {
        var request = Request(.get, Target(url))
        request.options.connectTarget = target
        request.options.addressRule = rule
        return request
    }

    private func labels(_ server: TestServer) -> [String: String] {
        [
            "server.address": "users.invalid", "server.port": "80",
            "network.peer.address": "127.0.0.1", "network.peer.port": String(server.port),
        ]
    }

    private func expectNothingOpen() {
        #expect(store.open("active") == 0)
        #expect(store.open("idle") == 0)
        #expect(store.connections("opened") == store.connections("closed"))
        #expect(Double(store.endedConnections) == store.connections("closed"))
    }

    @Test("Each endpoint of a name has figures of its own", arguments: [1, 2])
    func endpoints(engines: Int) async throws {
        let servers = try servers(3)
        let socket = try UnixServer()
        defer { socket.stop() }
        let client = Client(transport: try transport { $0.engines = engines }, stack: [])
        for (number, server) in servers.enumerated() {
            let target = ConnectTarget.host("127.0.0.1", port: server.port)
            for _ in 0...number {
                _ = try await client.request(request("http://users.invalid/", at: target)).data()
            }
        }
        let local = request("http://users.invalid/", at: .unixSocket(socket.path))
        _ = try await client.request(local).data()
        for (number, server) in servers.enumerated() {
            let labels = labels(server)
            try await until("an idle connection") { store.open("idle", labels) == 1 }
            try await until("all requests") {
                store.sum("turnpike.connections.reused", labels) == Double(number)
                    && store.open("active", labels) == 0
            }
            #expect(store.sum("turnpike.connections.opened", labels) == 1)
        }
        let path = ["server.address": "users.invalid", "network.peer.address": socket.path]
        // What a turn changes is told at its end, so a call may return before.
        try await until("a connection over the socket") {
            store.sum("turnpike.connections.opened", path) == 1
        }
        await client.shutdown()
        for server in servers {
            #expect(store.open("idle", labels(server)) == 0)
            #expect(store.sum("turnpike.connections.closed", labels(server)) == 1)
        }
        expectNothingOpen()
    }

    @Test("Each endpoint is prewarmed by itself, and calls use what is there")
    func prewarm() async throws {
        let transport = try transport()
        let servers = try servers(2)
        let client = Client(transport: transport, stack: [])
        for server in servers {
            let hold = TestHold()
            server.route("/slow", .ok(text: "slow").held(by: hold))
            let slow = request(
                "http://users.invalid/slow", at: .host("127.0.0.1", port: server.port))
            let warm = Task { try await transport.prewarm(slow, connections: 3) }
            try await server.wait { $0.requests == 3 }
            hold.open()
            #expect(try await warm.value.connections == 3)
        }
        for server in servers {
            try await until("idle connections") { store.open("idle", labels(server)) == 3 }
            let target = ConnectTarget.host("127.0.0.1", port: server.port)
            for _ in 0..<5 {
                _ = try await client.request(request("http://users.invalid/", at: target)).data()
            }
            #expect(server.counts.accepted == 3)
        }
        await client.shutdown()
        expectNothingOpen()
    }

    @Test("A rule is asked for each connection, young or old, and before each use of one")
    func ageAndRule() async throws {
        let server = try servers(1)[0]
        let client = Client(
            transport: try transport { $0.maxConnectionAge = .seconds(1) }, stack: [])
        let asked = Mutex(0)
        let rule = AddressRule { _ in
            asked.withLock { $0 += 1 }
            return true
        }
        try await eventually("another connection") {
            let call = client.request(request("\(server.url)", at: nil, rule))
            let text = try await call.string()
            #expect(text == "x")
            return server.counts.accepted >= Runs.size(2, all: 3)
        }
        let counts = server.counts
        #expect(asked.withLock { $0 } == counts.requests + counts.accepted)
        await client.shutdown()
        #expect(store.connections("opened") == Double(counts.accepted))
        expectNothingOpen()
    }

    @Test("A request that its rule keeps from a connection leaves nothing in the gauges")
    func refused() async throws {
        let server = try servers(1)[0]
        let client = Client(transport: try transport(), stack: [])
        for _ in 0..<5 {
            _ = try await client.request(request("\(server.url)")).data()
            let rule = AddressRule { _ in false }
            let refused = client.request(request("\(server.url)", at: nil, rule))
            let error = await #expect(throws: ClientError.self) { try await refused.data() }
            #expect(error?.code == .urlPolicy)
        }
        try await until("no active connection") { store.open("active") == 0 }
        await client.shutdown()
        #expect(store.connections("opened") + store.connections("reused") == 5)
        expectNothingOpen()
    }

    @Test("A connection on which the rule refuses the request that opened it counts once used")
    func refusedLate() async throws {
        let server = try servers(1)[0]
        let client = Client(transport: try transport(), stack: [])
        let asked = Mutex(0)
        // It allows the socket, and then refuses the request.
        let rule = AddressRule { _ in
            asked.withLock { asked in
                asked += 1
                return asked == 1
            }
        }
        let refused = client.request(request("\(server.url)", at: nil, rule))
        await expectError(.urlPolicy) { try await refused.data() }
        _ = try await client.request(request("\(server.url)")).data()
        await client.shutdown()
        #expect(store.connections("opened") + store.connections("reused") == 1)
        expectNothingOpen()
    }
}
