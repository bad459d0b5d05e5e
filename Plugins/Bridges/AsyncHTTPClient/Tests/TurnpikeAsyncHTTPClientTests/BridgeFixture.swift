// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeTesting

/// A server on loopback, and a client for the server with an empty stack.
struct BridgeFixture {
    let server: TestServer
    let client: Client

    func content(_ call: Call) async throws -> Data {
        try await call.response().body.collect(upTo: 1 << 26)
    }
}

/// Calls a closure with a transport over an `HTTPClient`, and afterwards shuts down both.
func withBridge(
    _ configuration: HTTPClient.Configuration = HTTPClient.Configuration(),
    traits: AsyncHTTPClientTransport.ClientTraits = [],
    _ body: (BridgeFixture) async throws -> Void
) async throws {
    let http = HTTPClient(configuration: configuration)
    let server = try TestServer()
    let client = Client(
        baseURL: server.target, transport: AsyncHTTPClientTransport(http, traits: traits),
        stack: [])
    do {
        try await body(BridgeFixture(server: server, client: client))
    } catch {
        server.stop()
        await client.shutdown()
        try await http.shutdown()
        throw error
    }
    server.stop()
    await client.shutdown()
    try await http.shutdown()
}

/// Returns the `ClientError` that a closure throws.
func failure(of body: () async throws -> Void) async throws -> ClientError {
    do {
        try await body()
    } catch let error as ClientError {
        return error
    }
    throw Unexpected()
}

struct Unexpected: Error {}
