// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension CurlTransport {
    /// The settings of a ``CurlTransport``.
    ///
    /// By default, the transport reads neither the environment nor `.netrc`, and trusts only the
    /// system's certificates. Without a ``proxy``, the transport uses no proxy.
    public struct Configuration: Sendable {
        /// The number of event loops.
        ///
        /// Each loop has its own thread, connection pool and DNS cache. One loop serves tens of
        /// thousands of requests a second. With several loops, all requests to one origin use the
        /// same loop.
        public var engines = 1
        /// The time limit for the wait for a free connection, name lookup, connection and TLS.
        ///
        /// After this time the call fails as ``/TurnpikeCore/ClientError/Code/connectTimeout``.
        public var connectTimeout: Duration = .seconds(10)
        /// The time in which only IPv6 is tried, before an attempt to an IPv4 address starts too.
        ///
        /// The default of 250 ms and the minimum of 10 ms follow RFC 8305 §8.
        public var connectionAttemptDelay: Duration = .milliseconds(250)
        /// The maximum number of connections to one host at a time.
        ///
        /// Further calls wait for a connection, within ``connectTimeout``. A server with few
        /// workers serves only a few connections, including idle connections. If a connection waits
        /// a second for the first byte, the transport therefore closes an idle connection to the
        /// same address.
        ///
        /// Upgraded connections count separately, as <doc:ConnectionPool> explains.
        public var maxConnectionsPerHost = 64
        /// The maximum number of connections at a time, or nil for only the limit of each host.
        ///
        /// Upgraded connections count separately.
        public var maxConnections: Int?
        /// The maximum number of idle connections that the transport keeps for later requests.
        public var maxIdleConnections = 1024
        /// The longest idle time after which a connection is used again, in whole seconds.
        ///
        /// The time starts at the end of the connection's last response. When a request needs a
        /// connection, the transport closes older connections. Without requests, the transport
        /// closes a connection within about twice this time.
        public var idleConnectionTimeout: Duration = .seconds(60)
        /// The rule for the offer of HTTP/2 in the TLS handshake.
        public var http2 = HTTP2.automatic
        /// The rule for the use of HTTP/3.
        public var http3 = HTTP3.off
        /// The age in whole seconds after which a connection is not used again, or nil for any age.
        ///
        /// Without this limit, a busy client keeps its connections and never uses new addresses of
        /// a name. When a request needs a connection, libcurl replaces a connection that is too
        /// old. libcurl caches addresses for ``dnsCacheTime``. After the sum of both times, all
        /// requests use the current servers. An HTTP/2 connection that is always busy stays open.
        public var maxConnectionAge: Duration?
        /// The time in whole seconds for which libcurl caches the addresses of a name, or zero for
        /// no cache.
        ///
        /// The time is fixed, because the system does not report the validity of addresses.
        public var dnsCacheTime: Duration = .seconds(60)
        /// Whether addresses are tried in random order instead of the system's order (RFC 6724).
        ///
        /// In the system's order, all clients with the same resolver connect to the first address.
        /// Each name lookup (``dnsCacheTime``) draws a new order. IPv6 still comes before IPv4.
        public var shufflesAddresses = false
        /// The meter for the metrics in <doc:ConnectionPool>, or nil for no metrics.
        public var meter: (any GateMeter)?
        /// The maximum number of streams at a time on one HTTP/2 or HTTP/3 connection.
        public var maxStreamsPerConnection = 100
        /// The time for which a thread polls before sleeping, at most a millisecond, or zero for no
        /// polling.
        ///
        /// Sleeping and waking up takes longer than the response of a server on the same machine or
        /// in the same rack. A thread polls only if responses arrive within this time and the
        /// process may use several cores. A single caller polls for the response without another
        /// thread. Linux advises 50 to 100 µs for its own busy polling (`net.core.busy_poll`).
        public var busyPolling: Duration = .microseconds(100)
        /// The proxies for requests, by default none.
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

    /// The rule for the offer of HTTP/2 in the TLS handshake.
    ///
    /// If a server accepts HTTP/2, one connection carries many calls.
    public enum HTTP2: String, Sendable, CaseIterable {
        /// Offers HTTP/2 if the installed libcurl is 8.14.1 or later with OpenSSL.
        ///
        /// Other versions may lose responses over HTTP/2 (<doc:HTTP2OverLibcurl>). With these
        /// versions, the transport offers HTTP/1.1, and offers HTTP/2 only if a server refuses
        /// HTTP/1.1 in the handshake (RFC 7301 §3.2).
        case automatic
        /// Always offers HTTP/2. Without HTTP/2 in the installed libcurl, the creation of the
        /// transport fails as ``/TurnpikeCore/ClientError/Code/unsupported``.
        case on
        /// Never offers HTTP/2.
        case off
    }

    /// The addresses for a host and port.
    public struct HostOverride: Sendable, Hashable {
        /// The host as written in URLs.
        public let host: String
        /// The port.
        public let port: Int
        /// The addresses, in the order of the attempts.
        public let addresses: [String]

        /// Creates an override.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}
