// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Counts contents that were let go of.
private final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .sequentiallyConsistent) }

    func data() -> Data {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
        return unsafe Data(
            bytesNoCopy: bytes, count: 100,
            deallocator: .custom { pointer, _ in
                unsafe pointer.deallocate()
                self.value.add(1, ordering: .sequentiallyConsistent)
            })
    }
}

@Suite("Places among the connections")
struct CurlSlotTests {
    @Test("A host gets 64 connections by default, as many as with URLSession")
    func defaultLimit() {
        #expect(CurlTransport.Configuration().maxConnectionsPerHost == 64)
        #expect(URLSessionTransport.Configuration().maxConnectionsPerHost == 64)
    }

    @Test(
        "A call that gets no place in time ends, though it has no deadline",
        arguments: Runs.size([true], all: [true, false]))
    func noPlace(perHost: Bool) async throws {
        let fixture = try CurlFixture {
            if perHost { $0.maxConnectionsPerHost = 1 } else { $0.maxConnections = 1 }
            // The first one has its connection in this time, on a busy machine too.
            $0.connectTimeout = .seconds(1)
        }
        let hold = TestHold()
        fixture.server.route("/slow", .ok(text: "slow").held(by: hold))
        async let slow = fixture.client.get("slow").string()
        try await fixture.server.waitForRequests(1)
        try await withThrowingTaskGroup(of: ClientError?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await #expect(throws: ClientError.self) {
                        try await fixture.client.post("next", body: .text("x")).data()
                    }
                }
            }
            for try await error in group {
                #expect(error?.code == .connectTimeout)
                #expect(error?.transfer?.isUnsent == true)
                #expect(error?.message.contains("maxConnectionsPerHost") == true)
            }
        }
        // That one has its connection, and as long as it takes.
        hold.open()
        #expect(try await slow == "slow")
        #expect(fixture.server.counts.requests == 1)
    }

    @Test("Those that wait for their turn get their end too, and nothing of them is kept")
    func noTurn() async throws {
        var configuration = CurlTransport.Configuration()
        configuration.http2 = .on
        configuration.maxConnections = 1
        configuration.connectTimeout = .seconds(1)
        let server = try TestServer()
        let hold = TestHold()
        server.route("/slow", .ok(text: "slow").held(by: hold))
        let client = Client(
            transport: try CurlTransport(configuration: configuration),
            stack: [.deadline(.seconds(30))])
        async let slow = client.get("\(server.target)slow").string()
        try await server.waitForRequests(1)
        let freed = Counter()
        try await withThrowingTaskGroup(of: ClientError?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await #expect(throws: ClientError.self) {
                        try await client.post("https://127.0.0.1:1/", body: .data(freed.data()))
                            .data()
                    }
                }
            }
            for try await error in group { #expect(error?.code == .connectTimeout) }
        }
        hold.open()
        #expect(try await slow == "slow")
        await client.shutdown()
        try await until("20 contents that are let go of") { freed.count == 20 }
    }

    @Test("An idle connection is closed for one that waits to be served")
    func room() async throws {
        let server = try TestServer()
        let hold = TestHold()
        server.route("/", .ok(text: "here").held(by: hold))
        let serial = try ProxyServer(to: server.port, isSerial: true)
        defer { serial.stop() }
        let client = Client(
            baseURL: "http://127.0.0.1:\(serial.port)/", transport: try CurlTransport(),
            stack: [.deadline(.seconds(30))])
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 { group.addTask { try await client.get("/").string() } }
            try await until("4 calls under way") { client.runningCallCount >= 4 }
            hold.open()
            for try await text in group { #expect(text == "here") }
        }
        // Calls that begin late find the connection of one that has ended.
        #expect((1...4).contains(server.counts.accepted))
    }

    @Test("Idle connections are closed for those that wait, whatever the order of their peers")
    func roomOfTwo() async throws {
        let server = try TestServer()
        server.route("/now", .ok(text: "here"))
        let first = TestHold()
        let second = TestHold()
        server.route("/first", .ok(text: "here").held(by: first))
        server.route("/second", .ok(text: "here").held(by: second))
        let one = try ProxyServer(to: server.port, isSerial: true)
        let two = try ProxyServer(to: server.port, isSerial: true)
        defer {
            one.stop()
            two.stop()
        }
        let client = Client(
            transport: try CurlTransport(), stack: [.deadline(.seconds(30))])
        @Sendable func send(_ path: String, to proxy: ProxyServer) async throws -> String {
            try await client.get(Target("http://127.0.0.1:\(proxy.port)/\(path)")).string()
        }
        // Connections in this order: to the one, to the other, a second to that, a second to the one.
        async let held = send("first", to: one)
        try await server.waitForRequests(1)
        async let heldToo = send("first", to: two)
        try await server.waitForRequests(2)
        async let later = send("second", to: two)
        try await roundTrip(client, server)
        async let last = send("now", to: one)
        try await roundTrip(client, server)
        first.open()
        #expect(try await held == "here")
        #expect(try await heldToo == "here")
        #expect(try await last == "here")
        second.open()
        #expect(try await later == "here")
    }

    // What was posted before it was begun when this returns.
    private func roundTrip(_ client: Client, _ server: TestServer) async throws {
        for _ in 0..<5 {
            _ = try await client.get(Target("http://127.0.0.1:\(server.port)/now")).string()
        }
    }

    @Test("A body that its reader lets wait is not taken for an idle connection")
    func paused() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/large", .bytes(3_000_000))
        fixture.server.route("/late", .ok(text: "late").delayed(by: .milliseconds(1500)))
        let large = try await fixture.client.get("large").response()
        #expect(try await fixture.client.get("late").string() == "late")
        #expect(try await large.body.collect(upTo: 3_000_000).count == 3_000_000)
        #expect(fixture.server.counts.accepted == 2)
    }

    @Test(
        "Addresses that refuse are passed over at once", .timeLimit(.minutes(2)),
        arguments: ["127.0.0.4", "[::1]"])
    func refusals(first: String) async throws {
        let server = try TestServer()
        server.route("/", .ok(text: "here"))
        var configuration = CurlTransport.Configuration()
        // Half of it would go by for one that is waited for: far more than the limit of this test.
        configuration.connectTimeout = .seconds(600)
        configuration.connectionAttemptDelay = .seconds(600)
        configuration.overrides = [
            .init(
                host: "api.invalid", port: server.port,
                addresses: [first, "127.0.0.2", "127.0.0.3", "127.0.0.1"])
        ]
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        let url = "http://api.invalid:\(server.port)/"
        let (response, tried) = try await triedAddresses(of: url, client)
        let firstTried = first == "[::1]" ? "0:0:0:0:0:0:0:1" : first
        #expect(tried == [firstTried, "127.0.0.2", "127.0.0.3", "127.0.0.1"])
        #expect(response.timeline.peerAddress == "127.0.0.1")
        response.body.cancel()
    }
}
