// SPDX-License-Identifier: Apache-2.0

import Foundation
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
