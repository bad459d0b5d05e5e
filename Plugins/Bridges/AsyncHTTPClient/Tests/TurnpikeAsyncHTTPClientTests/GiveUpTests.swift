// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeAsyncHTTPClient

@Suite("What an exchange that was given up says of its request", .timeLimit(.minutes(1)))
struct GiveUpTests {
    private func phase(beforeStart: Bool) async throws -> TransferState.Phase? {
        let server = try TestServer()
        server.fallback(.silence)
        let http = HTTPClient()
        let request = Turnpike.Request(.get, "\(server.url.absoluteString)")
        let exchange = HTTPExchange(
            request, traits: [], context: Context(), upload: nil,
            holder: ClientHolder(http, isOwned: false))
        let wire = try WireRequest(request, body: nil, [])
        if beforeStart { exchange.shutDown() }
        exchange.start(wire) { _ in }
        if !beforeStart { exchange.shutDown() }
        let error = try await failure { _ = try await exchange.response() }
        await exchange.ended()
        if beforeStart { #expect(server.counts.accepted == 0) }
        server.stop()
        try await http.shutdown()
        return error.transfer?.phase
    }

    @Test("Once async-http-client has begun, it may have been sent")
    func begun() async throws {
        #expect(try await phase(beforeStart: false) == .sending)
    }

    @Test("Before, it was not")
    func notBegun() async throws {
        #expect(try await phase(beforeStart: true) == .connecting)
    }

    @Test("An HTTPClient of the transport's own has no tracer")
    func tracer() async {
        let transport = AsyncHTTPClientTransport()
        #expect(transport.holder.client.tracer == nil)
        await transport.shutdown()
    }
}
