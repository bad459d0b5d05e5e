// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeTesting

@Suite("The async-http-client transport conforms", .timeLimit(.minutes(5)))
struct TransportConformanceTests {
    @Test("With an HTTPClient of its own", arguments: TransportConformance.checks)
    func own(_ check: TransportConformance.Check) async throws {
        try await check.run(on: AsyncHTTPClientTransport())
    }

    @Test("Over a caller's HTTPClient that decodes content", arguments: TransportConformance.checks)
    func borrowed(_ check: TransportConformance.Check) async throws {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, decompression: .enabled(limit: .none))
        configuration.connectionPool.retryConnectionEstablishment = false
        let http = HTTPClient(configuration: configuration)
        do {
            try await check.run(
                on: AsyncHTTPClientTransport(http, traits: [.returnsRedirects, .decodesContent]))
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }

    @Test("A status line has the name HTTP in capitals, and may end behind the status")
    func statusLines() async throws {
        try await withBridge { bridge in
            bridge.server.route("/name", .raw(Data("Http/1.1 200 OK\r\n\r\n".utf8)))
            bridge.server.route("/end", .raw(Data("HTTP/1.1 200\r\n\r\nx".utf8)))
            let error = try await failure { _ = try await bridge.client.get("name").response() }
            #expect(error.code == .protocol)
            #expect(try await bridge.content(bridge.client.get("end")) == Data("x".utf8))
        }
    }

    @Test(
        "It may prove who the client is, since its HTTPClient does not tell, and says so wrapped too"
    )
    func proof() async {
        let transport = AsyncHTTPClientTransport()
        #expect(transport.provesClient)
        #expect(FaultTransport(transport, seed: 1, []).provesClient)
        await transport.shutdown()
    }
}
