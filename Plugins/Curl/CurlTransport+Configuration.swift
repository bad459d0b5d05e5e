// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension CurlTransport {
    /// The settings of a ``CurlTransport``.
    ///
    /// The environment has no effect unless ``proxy`` says so: no `.netrc` is read, only the
    /// system's certificates are used, and no proxy.
    public struct Configuration: Sendable {
        /// The event loops.
        ///
        /// Each loop has its own thread, connection pool and DNS cache.
        ///
        /// One loop serves tens of thousands of requests a second. With several loops, all requests
        /// to one origin use the same loop.
        public var engines = 1
        /// The time for waiting for a free place among the connections, name lookup, connection and
        /// TLS handshake.
        ///
        /// After this time the call fails as
        /// ``/TurnpikeCore/ClientError/Code/connectTimeout``.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a connection attempt to a host's IPv6 address may take before its IPv4 address
        /// is tried as well.
        ///
        /// 250 ms, the advice of RFC 8305 §8. The least value is 10 ms, as in that section.
        public var connectionAttemptDelay: Duration = .milliseconds(250)
        /// Connections to one host at a time.
        ///
        /// More calls wait for a connection, within ``connectTimeout``. A server with few workers
        /// serves only a few connections, and idle ones count too. So if a connection waits a
        /// second for its first byte, an idle connection to the same address is closed.
        ///
        /// Upgraded connections count apart, as <doc:ConnectionPool> explains.
        public var maxConnectionsPerHost = 64
        /// Connections at a time; nil for no limit besides the limit for each host.
        ///
        /// Upgraded connections count apart.
        public var maxConnections: Int?
        /// Connections that are kept for later requests.
        public var maxIdleConnections = 1024
        /// How long a connection may be idle and still be used again, in whole seconds.
        ///
        /// The time starts at the end of the connection's last response. An older idle connection
        /// is closed when a request needs a connection. If there are no requests, it is closed
        /// within about twice this time.
        public var idleConnectionTimeout: Duration = .seconds(60)
        /// When HTTP/2 is offered in the TLS handshake.
        public var http2 = HTTP2.automatic
        /// When HTTP/3 is used.
        public var http3 = HTTP3.off
        /// The age from which a connection is not used again, in whole seconds; nil for any age.
        ///
        /// Without it, a busy client keeps its connections and never uses new addresses of a name.
        /// libcurl closes a connection that is too old, and opens a new one, when a request needs
        /// one. It remembers addresses for ``dnsCacheTime``. So servers that were added or moved
        /// are found after the sum of both times. An HTTP/2 connection that always has a request
        /// stays open.
        public var maxConnectionAge: Duration?
        /// How long the addresses of a name are remembered, in whole seconds; zero turns this off.
        ///
        /// libcurl uses a fixed time, because the system does not report how long a name's
        /// addresses are valid.
        public var dnsCacheTime: Duration = .seconds(60)
        /// Whether the addresses of a name are tried in a random order, instead of the order that
        /// the system prefers (RFC 6724).
        ///
        /// Otherwise clients that share a resolver all connect to the first address. A new order is
        /// drawn each time the name is looked up (``dnsCacheTime``). IPv6 still comes before IPv4.
        public var shufflesAddresses = false
        /// Receives the figures of the connections; nil for no figures.
        ///
        /// <doc:ConnectionPool> lists them.
        public var meter: (any GateMeter)?
        /// Streams at a time on one HTTP/2 or HTTP/3 connection.
        public var maxStreamsPerConnection = 100
        /// How long a thread polls before it sleeps: at most a millisecond; zero turns polling off.
        ///
        /// Sleeping and waking up takes longer than the answer of a server on the same machine or
        /// in the same rack. A thread polls only if answers come within this time and the process
        /// may use more than one core. A single caller then polls for its own answer, without
        /// another thread. Linux advises 50 to 100 µs for its own busy polling
        /// (`net.core.busy_poll`).
        public var busyPolling: Duration = .microseconds(100)
        /// The proxies for requests.
        ///
        /// By default there are none, and the environment is not read.
        public var proxy = ProxyChoice.direct
        /// A Unix socket for all connections; the URL's host is then not used to connect.
        public var unixSocket: String?
        /// The local interface, host name or address that connections are made from.
        public var sourceInterface: String?
        /// Addresses that stand for hosts, without a name lookup.
        public var overrides: [HostOverride] = []
        /// The trusted authorities and the client certificate for TLS.
        public var trust = Trust()

        /// Creates the default configuration.
        public init() {}
    }

    /// When HTTP/2 is offered in the TLS handshake.
    ///
    /// If a server accepts it, one connection carries many calls.
    public enum HTTP2: String, Sendable, CaseIterable {
        /// If the installed libcurl loses no responses over HTTP/2: from 8.14.1 on, with OpenSSL.
        ///
        /// <doc:HTTP2OverLibcurl> has the figures. With another libcurl, servers are offered
        /// HTTP/1.1, and HTTP/2 only if they refuse HTTP/1.1 in the handshake (RFC 7301 §3.2).
        case automatic
        /// Always. If the installed libcurl cannot do it, creating the transport fails as
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
        /// The addresses, tried in order.
        public let addresses: [String]

        /// Creates an override.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}
