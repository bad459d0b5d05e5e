// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeTesting

/// A transport that talks to real servers: what every one of them does is tested over each.
///
/// With `TURNPIKE_TRANSPORT=curl`, only over that one.
enum Road: String, CaseIterable {
    case urlSession, curl

    static let allCases: [Road] = {
        let name = ProcessInfo.processInfo.environment["TURNPIKE_TRANSPORT"]
        return [.urlSession, .curl].filter { name == nil || name == $0.rawValue }
    }()

    /// Makes the transport.
    func transport(maxConnectionsPerHost: Int = 64) throws -> any Transport {
        switch self {
        case .urlSession:
            var configuration = URLSessionTransport.Configuration()
            configuration.maxConnectionsPerHost = maxConnectionsPerHost
            return URLSessionTransport(configuration: configuration)
        case .curl:
            var configuration = CurlTransport.Configuration()
            configuration.maxConnectionsPerHost = maxConnectionsPerHost
            return try CurlTransport(configuration: configuration)
        }
    }

    /// Makes a client without gates, or with some.
    func client(to server: TestServer, stack: Stack = []) throws -> Client {
        Client(baseURL: server.target, transport: try transport(), stack: stack)
    }
}
