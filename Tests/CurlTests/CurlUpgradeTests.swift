// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Upgraded connections over libcurl", .timeLimit(.minutes(1)))
struct CurlUpgradeTests {
    private func call(_ client: Client) -> Call {
        var call = client.get("/")
        call.request.options.upgrade = "echo"
        return call
    }

    private static func answer(first: String = "") -> TestAnswer {
        .upgrade(to: "echo", first: Data(first.utf8)) { peer in
            while let bytes = peer.read() { peer.write(bytes) }
        }
    }

    @Test("Bytes go both ways, and those behind the head are the first")
    func bothWays() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", Self.answer(first: "early"))
        let response = try await call(fixture.client).response()
        #expect(response.status == 101)
        let connection = try #require(response.upgradedConnection)
        #expect(try await connection.read(upTo: 100) == Data("early".utf8))
        try await connection.write(Data("hello".utf8))
        #expect(try await connection.read(upTo: 100) == Data("hello".utf8))
        try await connection.finishWriting()
        #expect(try await connection.read(upTo: 100) == nil)
        let request = try #require(fixture.server.requests.first)
        #expect(request.headers[.upgrade] == "echo" && request.headers[.connection] == "Upgrade")
    }

    @Test("Content larger than all buffers arrives whole, both ways")
    func large() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", Self.answer())
        let connection = try #require(
            try await call(fixture.client).response().upgradedConnection)
        let sent = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        async let writing: Void = {
            for start in stride(from: 0, to: sent.count, by: 100_000) {
                try await connection.write(sent[start..<(start + 100_000)])
            }
        }()
        var got = Data()
        while got.count < sent.count, let bytes = try await connection.read(upTo: 50_000) {
            got += bytes
        }
        try await writing
        #expect(got == sent)
    }

    @Test("Another status is an ordinary answer, with its content")
    func refused() async throws {
        let fixture = try CurlFixture()
        fixture.server.route(
            "/", .status(401, body: Data("who".utf8)),
            .chunked([Data("not ".utf8), Data("now".utf8)], status: 503))
        for (status, text) in [(401, "who"), (503, "not now")] {
            let response = try await call(fixture.client).response()
            #expect(response.status.code == status && response.upgradedConnection == nil)
            #expect(try await response.body.collect(upTo: 100) == Data(text.utf8))
        }
        try await fixture.server.wait { $0.open == 0 }
    }

    @Test("Closing, letting go, cancelling and shutting down end the connection for the server")
    func ends() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", Self.answer())
        let closed = try #require(try await call(fixture.client).response().upgradedConnection)
        closed.close()
        _ = try await call(fixture.client).response()
        try await fixture.server.wait { $0.accepted == 2 && $0.open == 0 }
        let held = try #require(try await call(fixture.client).response().upgradedConnection)
        fixture.client.cancelAll()
        try await fixture.server.wait { $0.open == 0 }
        await expectError(.connection) { try await held.read(upTo: 10) }
        let last = try #require(try await call(fixture.client).response().upgradedConnection)
        await fixture.client.shutdown(grace: .milliseconds(1))
        try await fixture.server.wait { $0.accepted == 4 && $0.open == 0 }
        await expectError(.connection) { try await last.write(Data([1])) }
    }

    @Test("An ordinary call goes to the same host at its limit of connections")
    func atLimit() async throws {
        let fixture = try CurlFixture { $0.maxConnectionsPerHost = 1 }
        fixture.server.route("/", Self.answer(first: "unread"))
        fixture.server.route("/plain", .ok(text: "here"))
        let connection = try #require(
            try await call(fixture.client).response().upgradedConnection)
        #expect(try await fixture.client.get("/plain").string() == "here")
        #expect(try await connection.read(upTo: 100) == Data("unread".utf8))
    }

    @Test("Through an HTTP proxy it goes by CONNECT")
    func proxied() async throws {
        let server = try TestServer()
        server.route("/", Self.answer(first: "early"))
        let proxy = try ProxyServer(to: server.port)
        defer { proxy.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .through(.init(.http, host: "127.0.0.1", port: proxy.port))
        let client = Client(
            baseURL: "http://origin.invalid:81/",
            transport: try CurlTransport(configuration: configuration), stack: [])
        let connection = try #require(try await call(client).response().upgradedConnection)
        #expect(try await connection.read(upTo: 100) == Data("early".utf8))
        #expect(proxy.asked.map(\.host) == ["origin.invalid:81"])
        #expect(server.requests.first?.headers[.host] == "origin.invalid:81")
    }
}
