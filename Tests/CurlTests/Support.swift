// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// A server, and a client without gates over libcurl.
struct CurlFixture {
    let server: TestServer
    let client: Client

    init(
        stack: Stack = [], _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws {
        server = try TestServer()
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        client = Client(
            baseURL: server.target, transport: try CurlTransport(configuration: configuration),
            stack: stack)
    }
}

/// Sends a request.
/// - Returns: The response, and the addresses to which connections were tried for it, in order.
func triedAddresses(of url: String, _ client: Client) async throws -> (Response, [String]) {
    let asked = Mutex<[String]>([])
    var request = Request(.get, Target(url))
    request.options.addressRule = AddressRule { address in
        asked.withLock { $0.append("\(address)") }
        return true
    }
    let response = try await client.request(request).response()
    // The last question is about the connection that was made.
    return (response, asked.withLock { $0.dropLast() })
}
