// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCurl

/// What nginx, with TLS and HTTP/2, and with connections that end, makes of the pool of libcurl.
@Suite(
    "The pool of libcurl against nginx", .serialized, .oneAtATime,
    .needs("nginx and scripts/test --integration", if: Peers.shared?.secure != nil))
struct ConnectionPoolTests {
    private let store = MetricsStore()
    private let base: String
    private let limited: String

    init() throws {
        let peers = try #require(Peers.shared)
        base = try #require(peers.secure)
        limited = try #require(peers.limited)
    }

    private func transport(_ http2: CurlTransport.HTTP2) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(try #require(Peers.shared).authority.path())
        configuration.http2 = http2
        configuration.meter = store
        return try CurlTransport(configuration: configuration)
    }

    private func open(_ state: String) -> Double {
        store.figures.filter {
            $0.key.name == "http.client.open_connections"
                && $0.key.labels["http.connection.state"] == state
        }
        .values.reduce(0, +)
    }

    private func count(_ name: String) -> Double {
        store.figures.filter { $0.key.name == "turnpike.connections." + name }.values.reduce(0, +)
    }

    private func send(_ count: Int, atOnce: Int, to address: String, _ client: Client) async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= atOnce { await group.next() }
                group.addTask { _ = try? await client.get(Target(address + "a.json")).data() }
            }
        }
    }

    @Test("A connection that carries many requests is one connection, active and idle as one")
    func multiplexing() async throws {
        let transport = try transport(.on)
        let client = Client(transport: transport, stack: [])
        await send(300, atOnce: 50, to: base, client)
        try await until("an idle connection") { open("active") == 0 && open("idle") >= 1 }
        #expect(count("opened") + count("reused") == 300)
        #expect(count("opened") <= 5)
        #expect(open("idle") == count("opened") - count("closed"))
        await client.shutdown()
        #expect(open("idle") == 0)
        #expect(count("opened") == count("closed"))
    }

    @Test(
        "Connections that end after 100 requests leave nothing",
        arguments: [CurlTransport.HTTP2.on, .off])
    func ends(http2: CurlTransport.HTTP2) async throws {
        let client = Client(transport: try transport(http2), stack: [])
        // At least ten connections, of which at most five are left.
        await send(1000, atOnce: 5, to: limited, client)
        try await until("no active connection") {
            open("active") == 0 && count("closed") >= 5
        }
        #expect(open("idle") == count("opened") - count("closed"))
        await client.shutdown()
        #expect(open("idle") == 0)
        #expect(count("opened") == count("closed"))
    }

    @Test(
        "Bodies that are given up leave nothing, whatever the protocol",
        arguments: [CurlTransport.HTTP2.on, .off])
    func givenUp(http2: CurlTransport.HTTP2) async throws {
        let client = Client(transport: try transport(http2), stack: [])
        for _ in 0..<20 {
            let response = try await client.get(Target(base + "big.bin")).response()
            response.body.cancel()
        }
        try await until("no active connection") { open("active") == 0 }
        await client.shutdown()
        #expect(open("idle") == 0)
        #expect(count("opened") == count("closed"))
    }

    @Test("One connection of HTTP/2 is all that prewarming needs")
    func prewarm() async throws {
        let http2 = try transport(.on)
        let request = Request(.head, Target(base + "a.json"))
        let shared = try await http2.prewarm(request, connections: 10)
        #expect(shared.connections == 1)
        #expect(shared.failures.isEmpty)
        await http2.shutdown()
        let http1 = try transport(.off)
        let own = try await http1.prewarm(request, connections: 10)
        #expect(own.connections == 10)
        let client = Client(transport: http1, stack: [])
        await send(100, atOnce: 10, to: base, client)
        await client.shutdown()
        #expect(count("opened") == 11)
        #expect(count("closed") == 11)
    }
}
