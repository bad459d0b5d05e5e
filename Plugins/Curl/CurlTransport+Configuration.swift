// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension CurlTransport {
    /// The settings of a ``CurlTransport``.
    ///
    /// By default, the transport reads neither the environment nor `.netrc`, and trusts only the
    /// system's certificates. Unless ``proxy`` names a proxy, the transport uses none.
    public struct Configuration: Sendable {
        /// The number of event loops.
        ///
        /// Each loop has its own thread, connection pool and DNS cache. One loop serves tens of
        /// thousands of requests a second. With several loops, all requests to one origin use the
        /// same loop.
        public var engines = 1
        /// The time limit for a free place among the connections, name lookup, connection and TLS.
        ///
        /// After this time the call fails as ``/TurnpikeCore/ClientError/Code/connectTimeout``.
        public var connectTimeout: Duration = .seconds(10)
        /// How long only IPv6 is tried before an attempt to an IPv4 address starts as well.
        ///
        /// The default of 250 ms follows RFC 8305 §8, and so does the least value of 10 ms.
        public var connectionAttemptDelay: Duration = .milliseconds(250)
        /// The most connections to one host at a time.
        ///
        /// Further calls wait for a connection, within ``connectTimeout``. A server with few
        /// workers serves only a few connections, idle ones included. So if a connection waits a
        /// second for its first byte, the transport closes an idle connection to the same address.
        ///
        /// Upgraded connections count separately, as <doc:ConnectionPool> explains.
        public var maxConnectionsPerHost = 64
        /// The most connections at a time; nil for no limit besides the limit for each host.
        ///
        /// Upgraded connections count separately.
        public var maxConnections: Int?
        /// The most idle connections that the transport keeps for later requests.
        public var maxIdleConnections = 1024
        /// How long a connection may be idle and still be used again, in whole seconds.
        ///
        /// The time starts at the end of the connection's last response. The transport closes an
        /// older connection when a request needs a connection. Without requests, it closes the
        /// connection within about twice this time.
        public var idleConnectionTimeout: Duration = .seconds(60)
        /// When HTTP/2 is offered in the TLS handshake.
        public var http2 = HTTP2.automatic
        /// When HTTP/3 is used.
        public var http3 = HTTP3.off
        /// The age from which a connection is not used again, in whole seconds; nil for any age.
        ///
        /// Without this limit, a busy client keeps its connections and never uses new addresses of
        /// a name. When a request needs a connection, libcurl replaces a connection that is too
        /// old. libcurl caches addresses for ``dnsCacheTime``. So after the sum of both times, all
        /// requests use the current servers. An HTTP/2 connection that always has a request stays
        /// open.
        public var maxConnectionAge: Duration?
        /// How long libcurl caches the addresses of a name, in whole seconds; zero turns this off.
        ///
        /// The time is fixed, because the system does not report how long addresses are valid.
        public var dnsCacheTime: Duration = .seconds(60)
        /// Whether addresses are tried in random order instead of the system's order (RFC 6724).
        ///
        /// In the system's order, all clients with the same resolver connect to the first address.
        /// Each name lookup (``dnsCacheTime``) draws a new order. IPv6 still comes before IPv4.
        public var shufflesAddresses = false
        /// Receives the figures in <doc:ConnectionPool>; nil for no figures.
        public var meter: (any GateMeter)?
        /// The most streams at a time on one HTTP/2 or HTTP/3 connection.
        public var maxStreamsPerConnection = 100
        /// How long a thread polls before it sleeps: at most a millisecond; zero turns polling off.
        ///
        /// Sleeping and waking up takes longer than the response of a server on the same machine or
        /// in the same rack. A thread polls only if responses come within this time and the process
        /// may use more than one core. A single caller polls for its own response, without another
        /// thread. Linux advises 50 to 100 µs for its own busy polling (`net.core.busy_poll`).
        public var busyPolling: Duration = .microseconds(100)
        /// The proxies for requests; none by default.
        public var proxy = ProxyChoice.direct
        /// A Unix socket for all connections, which replaces the URL's host and port.
        public var unixSocket: String?
        /// The local interface, host name or address that connections use.
        public var sourceInterface: String?
        /// Addresses of hosts, which replace the name lookup.
        public var overrides: [HostOverride] = []
        /// The trusted authorities and the client certificate for TLS.
        public var trust = Trust()

        /// Creates the default configuration.
        public init() {}
    }

    /// When the transport offers HTTP/2 in the TLS handshake.
    ///
    /// If a server accepts HTTP/2, one connection carries many calls.
    public enum HTTP2: String, Sendable, CaseIterable {
        /// If the installed libcurl loses no responses over HTTP/2: from 8.14.1 on, with OpenSSL.
        ///
        /// <doc:HTTP2OverLibcurl> has the figures. Any other libcurl offers HTTP/1.1, and offers
        /// HTTP/2 only if a server refuses HTTP/1.1 in the handshake (RFC 7301 §3.2).
        case automatic
        /// Always. If the installed libcurl has no HTTP/2, creating the transport fails as
        /// ``/TurnpikeCore/ClientError/Code/unsupported``.
        case on
        /// Never.
        case off
    }

    /// The addresses to use for a host and port.
    public struct HostOverride: Sendable, Hashable {
        /// The host as it is written in URLs.
        public let host: String
        /// The port.
        public let port: Int
        /// The addresses, in the order in which they are tried.
        public let addresses: [String]

        /// Creates an override.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}
