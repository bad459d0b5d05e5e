// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// What peers say in place of an answer, and whether it makes sense to ask them again.
@Suite("Refusals over libcurl")
struct CurlRefusalTests {
    private static let stack: Stack = [
        .retry(attempts: 3, backoff: Backoff(base: .zero), budget: nil)
    ]

    private func client(through proxy: CurlTransport.Proxy) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .through(proxy)
        configuration.overrides = [
            .init(host: "origin.invalid", port: 443, addresses: ["192.0.2.7"])
        ]
        return Client(
            transport: try CurlTransport(configuration: configuration), stack: Self.stack)
    }

    @Test(
        "A proxy's answer in place of a connection is told, and asked for again where it may pass",
        arguments: [(403, 1), (407, 1), (404, 1), (302, 1), (429, 3), (502, 3), (503, 3)])
    func connect(status: Int, attempts: Int) async throws {
        let proxy = try TestServer()
        proxy.fallback(.status(HTTPStatus(status), headers: ["Proxy-Authenticate": "Basic"]))
        let client = try client(through: .init(host: "127.0.0.1", port: proxy.port))
        for call in [client.get("https://origin.invalid/"), client.post("https://origin.invalid/")]
        {
            let error = await #expect(throws: ClientError.self) { try await call.data() }
            #expect(error?.code == .connection)
            #expect(error?.proxyStatus == HTTPStatus(status))
            #expect(error?.message.contains("\(status)") == true)
            #expect(error?.response == nil)
            #expect(error?.transfer?.isUnsent == true)
            #expect(error?.attempts == attempts)
        }
        #expect(proxy.counts.requests == 2 * attempts)
    }

    @Test(
        "A SOCKS proxy's refusal is told as the status that means the same",
        arguments: [(2, 403, 1), (7, 501, 1), (5, 502, 3), (4, 502, 3), (6, 504, 3)]
            as [(
                UInt8, Int, Int
            )])
    func socks(reply: UInt8, status: Int, attempts: Int) async throws {
        let proxy = try ProxyServer(to: 1, socksReply: reply)
        defer { proxy.stop() }
        let client = try client(through: .init(.socks5h, host: "127.0.0.1", port: proxy.port))
        let error = await #expect(throws: ClientError.self) {
            try await client.get("https://origin.invalid/").data()
        }
        #expect(error?.proxyStatus == HTTPStatus(status))
        #expect(error?.attempts == attempts)
    }

    @Test("A SOCKS proxy that takes no user is not asked again")
    func socksUser() async throws {
        let proxy = try ProxyServer(to: 1, refusesUsers: true)
        defer { proxy.stop() }
        var settings = CurlTransport.Proxy(.socks5h, host: "127.0.0.1", port: proxy.port)
        settings.user = "me"
        settings.password = "S3CRET"
        let client = try client(through: settings)
        let error = await #expect(throws: ClientError.self) {
            try await client.get("https://origin.invalid/").data()
        }
        #expect(error?.proxyStatus == 407)
        #expect(error?.attempts == 1)
        #expect(error.map { !"\($0)".contains("S3CRET") } == true)
    }

    @Test(
        "A head that ends with its connection is a lost connection, tried again where that is safe",
        arguments: [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Ty",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 2",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n",
        ])
    func cutHead(head: String) async throws {
        let fixture = try CurlFixture(stack: Self.stack)
        fixture.server.fallback(.raw(Data(head.utf8)))
        for (method, attempts) in [(HTTPMethod.get, 3), (.put, 3), (.post, 1)] {
            let error = await #expect(throws: ClientError.self) {
                try await fixture.client.request(method, "/", body: .text("x")).data()
            }
            #expect(error?.code == .connection)
            #expect(error?.transfer?.phase == .sending)
            #expect(error?.attempts == attempts)
        }
    }

    @Test(
        "A client's certificate that the server refuses is a fault of TLS, by TLS 1.3 too",
        .needs("openssl", if: TLSFiles.shared != nil),
        arguments: ["-tls1_2", "-tls1_3"], [true, false])
    func certificate(version: String, isShown: Bool) async throws {
        let files = try #require(TLSFiles.shared)
        let server = try TLSServer(
            files, "-Verify", "1", "-CAfile", files.authority, "-verify_return_error", version)
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        if isShown {
            configuration.trust.clientCertificate = .init(
                certificate: files.stranger, key: files.strangerKey)
        }
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: Self.stack)
        let error = await #expect(throws: ClientError.self) {
            try await client.get("https://localhost:\(server.port)/").data()
        }
        #expect(error?.code == .tls)
        #expect(error?.attempts == 1)
        if version == "-tls1_3" { #expect(error?.message.contains("client's certificate") == true) }
    }
}
