// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Cookbook: connections")
struct ConnectionRecipeTests {
    private static let hasTLS: Bool = TLSFiles.shared != nil

    private func target(_ server: TLSServer) -> Target { "https://localhost:\(server.port)/" }

    private func code(_ client: Client) async -> ClientError.Code? {
        do {
            try await client.get("").deadline(.seconds(20)).retryable(false).empty()
            return nil
        } catch {
            return (error as? ClientError)?.code
        }
    }

    @Test("A server that wants a certificate gets it", .needs("openssl", if: hasTLS))
    func clientCertificate() async throws {
        let files = try #require(TLSFiles.shared)
        let folder = TemporaryFolder()
        for (name, path) in [
            ("client.pem", files.certificate), ("client.key", files.key),
            ("authority.pem", files.authority),
        ] {
            try FileManager.default.copyItem(atPath: path, toPath: folder[name])
        }
        let server = try TLSServer(files, "-Verify", "1", "-CAfile", files.authority)
        defer { server.stop() }
        #expect(await code(try makeCertificateClient(target(server), folder.path)) == nil)
        try FileManager.default.removeItem(atPath: folder["client.key"])
        expectError(.configuration) {
            try makeCertificateClient(target(server), folder.path)
        }
    }

    @Test(
        "An authority of one's own is trusted, and no other one",
        .needs("openssl", if: hasTLS))
    func ownAuthority() async throws {
        let files = try #require(TLSFiles.shared)
        let server = try TLSServer(files)
        defer { server.stop() }
        for (path, expected) in [(files.authority, nil), (files.stranger, .tls)]
            as [(String, ClientError.Code?)]
        {
            let authority = try Data(contentsOf: URL(filePath: path))
            #expect(
                await code(try makeInternalClient(target(server), authority: authority))
                    == expected)
        }
    }

    @Test("A server must have a pinned key", .needs("openssl", if: hasTLS))
    func pins() async throws {
        let files = try #require(TLSFiles.shared)
        let server = try TLSServer(files)
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        let right = "sha256/" + files.pin
        let wrong = "sha256/" + Data(count: 32).base64EncodedString()
        for (pins, expected) in [([wrong, right], nil), ([wrong, wrong], .tls)]
            as [([String], ClientError.Code?)]
        {
            #expect(
                await code(try makePinnedClient(target(server), pins: pins, configuration))
                    == expected)
        }
        expectError(.configuration) {
            try makePinnedClient(target(server), pins: [right], configuration)
        }
    }

    @Test("Requests go through the proxy of the environment, but for its exceptions")
    func proxy() async throws {
        let server = try TestServer()
        server.fallback(.ok(text: "proxied"))
        let proxy = try TestServer()
        proxy.fallback(.ok(text: "proxied"))
        for (exceptions, count) in [("", 1), ("127.0.0.1", 1)] {
            let client = try makeProxyClient(
                server.target,
                ["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": exceptions])
            #expect(try await client.get("orders").string() == "proxied")
            #expect(proxy.counts.requests == count)
        }
        #expect(proxy.requests.first?.target == "http://127.0.0.1:\(server.port)/orders")
        #expect(server.counts.requests == 1)
    }

    @Test("A daemon is asked over its socket")
    func unixSocket() async throws {
        let server = try UnixServer()
        defer { server.stop() }
        let client = try makeSocketClient(server.path)
        #expect(try await client.get("info").string() == "/v1.47/info at localhost")
    }

    @Test("A feed goes on after its server has restarted, and asks for the same prices again")
    func followFeed() async throws {
        let server = try TestServer()
        defer { server.stop() }
        // Each connection tells one price; the first ends as the server's restart does.
        let connections = Mutex(0)
        server.route(
            "/prices",
            .webSocket { frame, peer in
                guard frame.content == Data(#"{"subscribe":"EURUSD"}"#.utf8) else { return }
                let number = connections.withLock { connections in
                    connections += 1
                    return connections
                }
                let price = #"{"pair":"EURUSD","bid":1.\#(number)}"#
                peer.write(RawFrame(0x81, price).bytes)
                peer.write(RawFrame.close(number == 1 ? 1012 : 1000).bytes)
            })
        let client = Client(
            baseURL: server.target, transport: try CurlTransport(), stack: .standard)
        var bids: [Double] = []
        try await followPrices(client, of: "EURUSD") { bids.append($0.bid) }
        #expect(bids == [1.1, 1.2])
        await client.shutdown()
    }
}
