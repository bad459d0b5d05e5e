import Turnpike
import TurnpikeCurl

/// The transport that a storm goes over.
enum StormTransport: String {
    case urlsession
    case curl

    func make() throws -> any Transport {
        switch self {
        case .urlsession: URLSessionTransport()
        case .curl: try CurlTransport()
        }
    }

    /// The connections that it keeps to one host.
    var poolSize: Int {
        switch self {
        case .urlsession: URLSessionTransport.Configuration().maxConnectionsPerHost
        case .curl: CurlTransport.Configuration().maxConnectionsPerHost
        }
    }

    /// libcurl's handles in this process.
    var handles: Int { self == .curl ? CurlHandles.live : 0 }

    /// The most handles of a transport that has nothing to do.
    var maxIdleHandles: Int { CurlHandles.maxIdle }
}
