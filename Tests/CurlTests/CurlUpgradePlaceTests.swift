// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Places of upgraded connections over libcurl", .timeLimit(.minutes(2)))
struct CurlUpgradePlaceTests {
    private func fixture(
        _ configure: (inout CurlTransport.Configuration) -> Void
    ) throws -> CurlFixture {
        let fixture = try CurlFixture(configure)
        fixture.server.route("/", .echoing())
        fixture.server.route("/unread", .echoing(first: "unread"))
        fixture.server.route("/plain", .ok(text: "here"))
        return fixture
    }

    @Test(
        "One more than the limit waits until another is closed, in turn; other hosts do not wait",
        arguments: [true, false])
    func waiting(perHost: Bool) async throws {
        let fixture = try fixture {
            if perHost { $0.maxConnectionsPerHost = 1 } else { $0.maxConnections = 1 }
            $0.overrides = [
                .init(host: "other.example", port: 80, addresses: ["127.0.0.1"])
            ]
        }
        let first = try await fixture.client.upgraded()
        let steps = Mutex<[String]>([])
        var call = fixture.client.upgrading()
        call.request.options.addressRule = AddressRule { _ in
            steps.withLock { $0.append("connects") }
            return true
        }
        let asking = call
        async let second = asking.response()
        if perHost {
            var other = fixture.client.upgrading("http://other.example/")
            other.request.options.connectTarget = .host("127.0.0.1", port: fixture.server.port)
            #expect(try await other.response().status == 101)
        }
        #expect(try await first.echoes())
        steps.withLock { $0.append("closes") }
        first.close()
        #expect(try await second.status == 101)
        // The rule is also asked about the connection that was made.
        #expect(steps.withLock { $0 } == ["closes", "connects", "connects"])
    }

    @Test(
        "One that gets no place in time fails like an ordinary call",
        arguments: Runs.size([true], all: [true, false]))
    func late(perHost: Bool) async throws {
        let fixture = try fixture {
            if perHost { $0.maxConnectionsPerHost = 1 } else { $0.maxConnections = 1 }
            $0.connectTimeout = .seconds(1)
        }
        let first = try await fixture.client.upgraded()
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.upgraded()
        }
        #expect(error?.code == .connectTimeout)
        #expect(error?.transfer?.isUnsent == true)
        #expect(error?.message.contains("maxConnectionsPerHost") == true)
        #expect(try await first.echoes())
        #expect(fixture.server.counts.accepted == 1)
    }

    @Test("One that is given up while it waits leaves no place taken")
    func givenUp() async throws {
        let fixture = try fixture { $0.maxConnectionsPerHost = 1 }
        let first = try await fixture.client.upgraded()
        let calls = (0..<3).map { _ in Task { try await fixture.client.upgraded() } }
        for call in calls {
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        let next = Task { try await fixture.client.upgraded() }
        first.close()
        #expect(try await next.value.echoes())
        #expect(fixture.server.counts.accepted == 2)
    }

    @Test("One that is given up before it has a place, or twice, takes no place from others")
    func givenUpWithoutPlace() async throws {
        let fixture = try fixture { $0.maxConnectionsPerHost = 2 }
        let transport = try #require(fixture.client.transport as? CurlTransport)
        let first = try await fixture.client.upgraded()
        for _ in 0..<2 {
            let request = Request(.get, fixture.server.target)
            let transfer = CurlTransfer(
                request,
                wire: try CurlRequest(
                    request, body: .empty, length: nil, decodes: false, isFresh: true,
                    route: try transport.route(of: request)),
                upload: nil, offersHTTP2: false)
            let early = CurlUpgrade(transfer, in: transport.upgrades)
            early.close()
            transport.upgrades.remove(early, -1)
            await #expect(throws: (any Error).self) { try await early.connect() }
        }
        #expect(try await first.echoes())
        let second = try await fixture.client.upgraded()
        let third = Task { try await fixture.client.upgraded() }
        #expect(try await second.echoes())
        #expect(fixture.server.counts.accepted == 2)
        first.close()
        #expect(try await third.value.echoes())
    }

    @Test("A shutdown of the transport ends those that wait and those that are open")
    func shutdown() async throws {
        let server = try TestServer()
        server.route("/", .echoing())
        var configuration = CurlTransport.Configuration()
        configuration.maxConnectionsPerHost = 1
        let transport = try CurlTransport(configuration: configuration)
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        let first = try await client.upgraded()
        let waiting = Task { try await client.upgraded() }
        await transport.shutdown()
        await expectError(.cancelled) { try await waiting.value }
        await expectError(.cancelled) { try await first.read(upTo: 10) }
        try await server.wait { $0.open == 0 }
        #expect(server.counts.accepted == 1)
    }

    @Test(
        "Ordinary calls to the same host leave it alone, at their limit and while bytes lie unread")
    func ordinaryCalls() async throws {
        let fixture = try fixture {
            $0.maxConnectionsPerHost = 1
            $0.maxConnections = 1
            $0.maxIdleConnections = 1
        }
        let connection = try await fixture.client.upgraded("/unread")
        for _ in 0..<3 { #expect(try await fixture.client.get("/plain").string() == "here") }
        #expect(fixture.server.counts.accepted == 2)
        #expect(try await connection.read(upTo: 100) == Data("unread".utf8))
        #expect(try await connection.echoes())
    }

    @Test("It outlives the maximal age of connections")
    func age() async throws {
        let fixture = try fixture {
            $0.maxConnectionAge = .seconds(1)
            $0.idleConnectionTimeout = .seconds(1)
        }
        let connection = try await fixture.client.upgraded("/unread")
        try await eventually("another ordinary connection") {
            let text = try await fixture.client.get("/plain").string()
            #expect(text == "here")
            return fixture.server.counts.accepted >= 3
        }
        #expect(try await connection.read(upTo: 100) == Data("unread".utf8))
        #expect(try await connection.echoes())
    }

    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    @Test("Once connected, it has three descriptors, libcurl's own")
    func keeps() async {
        await #expect(processExitsWith: .success) {
            let fixture = try CurlFixture { $0.maxConnectionsPerHost = 11 }
            fixture.server.route("/", .echoing())
            var connections = [try await fixture.client.upgraded()]
            let before = try CurlUpgradePlaceTests.descriptors()
            for _ in 0..<10 { connections.append(try await fixture.client.upgraded()) }
            // The server has one more.
            #expect(try CurlUpgradePlaceTests.descriptors() - before <= 10 * 4)
            for connection in connections { #expect(try await connection.echoes()) }
        }
    }

    @Test("Two hundred connections that end in each way leave no descriptor, and no place taken")
    func descriptors() async {
        // Other tests have descriptors of their own.
        await #expect(processExitsWith: .success) {
            let fixture = try CurlFixture { $0.maxConnectionsPerHost = 1 }
            let (server, client) = (fixture.server, fixture.client)
            server.route("/", .echoing(first: "early"))
            server.route("/ends", .upgrade(to: "echo") { _ in })
            server.route("/refuses", .status(401, body: Data("who".utf8)))
            server.route("/silent", .silence)
            let dead = try TestServer()
            dead.stop()
            func fails(_ call: Call) async {
                await #expect(throws: (any Error).self) { try await call.response() }
            }
            func round() async throws {
                try await client.upgraded().close()
                _ = try await client.upgraded()
                let finished = try await client.upgraded()
                try await finished.finishWriting()
                while try await finished.read(upTo: 3) != nil {}
                finished.close()
                let ended = try await client.upgraded("/ends")
                #expect(try await ended.read(upTo: 10) == nil)
                ended.close()
                await #expect(throws: ClientError.self) {
                    let failed = try await client.upgraded("/ends")
                    while true { try await failed.write(Data(count: 10)) }
                }
                let requests = server.counts.requests
                #expect(try await client.upgrading("/refuses").response().status == 401)
                let silent = Task { try await client.upgraded("/silent") }
                try await server.waitForRequests(requests + 2)
                silent.cancel()
                await #expect(throws: CancellationError.self) { try await silent.value }
                let held = try await client.upgraded()
                client.cancelAll()
                await #expect(throws: ClientError.self) {
                    while try await held.read(upTo: 10) != nil {}
                }
                await fails(client.upgrading(Target(dead.url)))
                var ruled = client.upgrading()
                ruled.request.options.addressRule = AddressRule { _ in false }
                await fails(ruled)
            }
            try await round()
            try await server.wait { $0.open == 0 }
            let before = try CurlUpgradePlaceTests.descriptors()
            for _ in 0..<20 { try await round() }
            try await server.wait { $0.open == 0 }
            try await until("the descriptors to be closed") {
                (try? CurlUpgradePlaceTests.descriptors()) ?? .max <= before
            }
        }
    }
}
