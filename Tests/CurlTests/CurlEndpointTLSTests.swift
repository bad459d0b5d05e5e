// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeEndpoints

@testable import TurnpikeCurl

/// Endpoints that speak something other than the scheme of the request says.
@Suite(
    "Endpoints over libcurl, with TLS and without",
    .needs("openssl", if: TLSFiles.shared != nil))
struct CurlEndpointTLSTests {
    private let files: TLSFiles

    init() throws { files = try #require(TLSFiles.shared) }

    private func client(_ ports: Int...) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        return Client(
            transport: try CurlTransport(configuration: configuration),
            stack: [
                .endpoints(
                    for: "localhost", from: .list(ports.map { "127.0.0.1:\($0)" }),
                    policy: .roundRobin)
            ])
    }

    private func error(_ client: Client, _ url: String) async -> ClientError? {
        await #expect(throws: ClientError.self) { try await client.get(Target(url)).response() }
    }

    @Test("An endpoint that speaks plain HTTP to https is an error of TLS that names it")
    func plainForTLS() async throws {
        let server = try ProxyServer(to: 1)
        defer { server.stop() }
        let error = await error(try client(server.port), "https://localhost/")
        #expect(error?.code == .tls)
        #expect(error?.message.contains("expects http") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("(at 127.0.0.1:\(server.port))") == true)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("An endpoint that speaks TLS to http is an error that names it")
    func tlsForPlain() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        let error = await error(try client(server.port), "http://localhost/")
        // Some servers close the connection, others send an alert, which is no HTTP.
        #expect([.protocol, .connection].contains(error?.code), "\(error?.code.rawValue ?? "")")
        #expect(
            error?.message.contains("(at 127.0.0.1:\(server.port))") == true,
            "\(error?.message ?? "")")
    }

    @Test("An endpoint with TLS is verified by the logical name")
    func verified() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        let client = try client(server.port)
        let response = try await client.get("https://localhost/").response()
        #expect(response.status == 200)
        response.body.cancel()
        let other = Client(
            transport: try CurlTransport(configuration: CurlTransport.Configuration()),
            stack: [
                .endpoints(for: "other.invalid", from: .list(["127.0.0.1:\(server.port)"]))
            ])
        #expect(await error(other, "https://other.invalid/")?.code == .tls)
    }
}
