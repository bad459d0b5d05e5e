// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Connections of libcurl")
struct CurlConnectionTests {
    @Test("A proxy gets the whole URL, and its credential, which origins do not")
    func proxy() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("http://origin.invalid/x", .echo)
        let port = fixture.server.port
        var configuration = CurlTransport.Configuration()
        var proxy = CurlTransport.Proxy(host: "127.0.0.1", port: port)
        proxy.user = "me"
        proxy.password = "S3CRET"
        proxy.exceptions = ["127.0.0.1"]
        configuration.proxy = .through(proxy)
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        let echo = try await client.get("http://origin.invalid/x").json()
        #expect(echo["target"] == "http://origin.invalid/x")
        let expected = "Basic " + Data("me:S3CRET".utf8).base64EncodedString()
        #expect(fixture.server.requests.first?.headers[.proxyAuthorization] == expected)
        fixture.server.route("/direct", .echo)
        let direct = try await client.get("http://127.0.0.1:\(port)/direct").json()
        #expect(direct["target"] == "/direct")
        #expect(fixture.server.requests.last?.headers[.proxyAuthorization] == nil)
        #expect(!String(reflecting: configuration.proxy as Any).contains("S3CRET"))
    }

    @Test("A proxy that cannot be reached is an error of the connection, and nothing was sent")
    func deadProxy() async throws {
        let fixture = try CurlFixture { $0.proxy = .through(.init(host: "127.0.0.1", port: 1)) }
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.get("/").data()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("A host may stand for another address")
    func overrides() async throws {
        let plain = try CurlFixture()
        plain.server.route("/", .echo)
        let port = plain.server.port
        var configuration = CurlTransport.Configuration()
        configuration.overrides = [
            CurlTransport.HostOverride(host: "api.invalid", port: port, addresses: ["127.0.0.1"])
        ]
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        let response = try await client.get("http://api.invalid:\(port)/").response()
        #expect(response.status == 200)
        #expect(response.timeline.peerAddress == "127.0.0.1")
        #expect(plain.server.requests.first?.headers[.host] == "api.invalid:\(port)")
    }

    @Test("A name that does not exist is an error of the lookup")
    func unknownHost() async throws {
        // Longer than the system asks a server of names that says nothing.
        let client = try CurlFixture { $0.connectTimeout = .seconds(60) }.client
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://nothing.invalid/").data()
        }
        #expect(error?.code == .dns)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("Requests reach a Unix socket")
    func unixSocket() async throws {
        let server = try UnixServer()
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.unixSocket = server.path
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        #expect(try await client.get("http://docker/info").string() == "/info at docker")
        configuration.unixSocket = "/nonexistent/socket"
        let other = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        let error = await #expect(throws: ClientError.self) {
            try await other.get("http://docker/").data()
        }
        #expect(error?.code == .connection)
    }

    @Test("A connection that is not made in time is an error of its own")
    func connectTimeout() async throws {
        let listener = try FullListener()
        defer { listener.close() }
        let fixture = try CurlFixture { $0.connectTimeout = .milliseconds(200) }
        // The thread sleeps for longer than that after these.
        fixture.server.route("/", .ok(text: "x"))
        for _ in 0..<3 { _ = try? await fixture.client.get("/").data() }
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.get("http://127.0.0.1:\(listener.port)/").data()
        }
        #expect(error?.code == .connectTimeout)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("No request waits for the first answer of its origin")
    func firstAnswer() async throws {
        let fixture = try CurlFixture()
        let hold = TestHold()
        fixture.server.route("/slow", .ok(text: "slow").held(by: hold))
        fixture.server.route("/quick", .ok(text: "quick"))
        async let slow = fixture.client.get("slow").string()
        try await fixture.server.wait { $0.requests == 1 }
        #expect(try await fixture.client.get("quick").string() == "quick")
        hold.open()
        #expect(try await slow == "slow")
    }

    @Test("No more idle connections are kept than allowed", arguments: [1, 3])
    func idleConnections(limit: Int) async throws {
        let fixture = try CurlFixture { $0.maxIdleConnections = limit }
        let hold = TestHold()
        fixture.server.fallback(.ok(text: "x").held(by: hold))
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<5 {
                group.addTask { try await fixture.client.get("\(number)").string() }
            }
            try await fixture.server.wait { $0.requests == 5 }
            #expect(fixture.server.counts.accepted == 5)
            hold.open()
            for try await text in group { #expect(text == "x") }
        }
        try await fixture.server.wait { $0.open == limit }
    }

    @Test("A connection that was idle for too long is not used again")
    func idleTimeout() async throws {
        let patient = try CurlFixture()
        let hasty = try CurlFixture { $0.idleConnectionTimeout = .seconds(1) }
        for fixture in [patient, hasty] {
            fixture.server.route("/", .ok(text: "x"))
            for _ in 0..<2 { _ = try await fixture.client.get("/").data() }
            #expect(fixture.server.counts.accepted == 1)
        }
        // libcurl counts whole seconds, by a clock of its own.
        patient.server.route("/wait", .ok(text: "x").delayed(by: .milliseconds(2100)))
        _ = try await patient.client.get("wait").data()
        for fixture in [patient, hasty] { _ = try await fixture.client.get("/").data() }
        #expect(patient.server.counts.accepted == 1)
        #expect(hasty.server.counts.accepted == 2)
    }

    @Test("No more connections are made than allowed, to all hosts together")
    func connections() async throws {
        let fixture = try CurlFixture { $0.maxConnections = 2 }
        let servers = [fixture.server, try TestServer()]
        let hold = TestHold()
        for server in servers { server.fallback(.ok(text: "x").held(by: hold)) }
        try await withThrowingTaskGroup(of: String.self) { group in
            for server in servers {
                group.addTask { try await fixture.client.get(server.target).string() }
                try await server.waitForRequests(1)
            }
            for number in 0..<6 {
                let server = servers[number % 2]
                group.addTask { try await fixture.client.get(server.target).string() }
            }
            hold.open()
            for try await text in group { #expect(text == "x") }
        }
        // One that is idle may make room for one to the other server, after which both had two; and a
        // server may see the end of one late. Without the bound each would have four.
        #expect(servers.allSatisfy { $0.counts.peak <= 3 })
        servers[1].stop()
    }

    @Test("Several engines share the origins between them")
    func engines() async throws {
        let fixture = try CurlFixture { $0.engines = 3 }
        let others = try (0..<5).map { _ in try TestServer() }
        for server in [fixture.server] + others {
            server.route("/", .ok(text: "x"))
            for _ in 0..<5 {
                #expect(try await fixture.client.get(Target(server.url)).string() == "x")
            }
            #expect(server.counts.accepted == 1)
        }
        await fixture.client.shutdown()
        for server in others { try await server.wait { $0.open == 0 } }
    }
}
