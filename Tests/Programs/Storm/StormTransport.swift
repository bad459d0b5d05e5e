// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCurl

/// The transport that a storm goes over.
enum StormTransport: String {
    case urlsession
    case curl
    /// Its calls run on the thread of the network.
    case curlExecutor = "curl-executor"

    func make() throws -> any Transport {
        switch self {
        case .urlsession: URLSessionTransport()
        case .curl, .curlExecutor: try CurlTransport()
        }
    }

    /// The connections that it keeps to one host.
    var poolSize: Int {
        switch self {
        case .urlsession: URLSessionTransport.Configuration().maxConnectionsPerHost
        case .curl, .curlExecutor: CurlTransport.Configuration().maxConnectionsPerHost
        }
    }

    /// The descriptors that it has beside its connections, at most: for events, and to be woken.
    var ownDescriptors: Int {
        switch self {
        case .urlsession: 0
        case .curl, .curlExecutor: 4
        }
    }

    /// What the calls run on; nil for the system's threads.
    func executor(of transport: any Transport) -> (any TaskExecutor)? {
        self == .curlExecutor ? (transport as? CurlTransport)?.executor : nil
    }

    /// libcurl's handles in this process.
    var handles: Int { self == .urlsession ? 0 : CurlHandles.live }

    /// The most handles of a transport that has nothing to do.
    var maxIdleHandles: Int { CurlHandles.maxIdle }
}
