// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension CurlTransport {
    /// How a ``CurlTransport`` behaves.
    ///
    /// The environment has no effect: no `.netrc` is read, only the system's certificates are used,
    /// and no proxy unless ``proxy`` says so.
    public struct Configuration: Sendable {
        /// The event loops, each with a thread, a connection pool and a DNS cache of its own.
        ///
        /// One serves tens of thousands of requests a second. With more, an origin always gets the
        /// same one.
        public var engines = 1
        /// The time for name lookup, connection and TLS handshake, and before them for a free place
        /// among the connections.
        ///
        /// When it has passed the call fails as
        /// ``/TurnpikeCore/ClientError/Code/connectTimeout``.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a host's IPv6 address may take to answer before its IPv4 address is tried
        /// beside it.
        ///
        /// 250 ms, as RFC 8305 §8 has it, and at least its bound of 10 ms.
        public var connectionAttemptDelay: Duration = .milliseconds(250)
        /// Connections to one host at a time.
        ///
        /// More calls wait for a connection, within ``connectTimeout``. A server with few workers
        /// serves only a few connections, and idle ones count too. So if a connection waits a
        /// second for its first byte, an idle connection to the same address is closed.
        ///
        /// Upgraded connections count apart, as <doc:ConnectionPool> explains.
        public var maxConnectionsPerHost = 64
        /// Connections at a time; nil for no bound of their own. Upgraded connections count apart.
        public var maxConnections: Int?
        /// Connections that are kept for later requests.
        public var maxIdleConnections = 1024
        /// How long a connection may have been idle when it is used again, in whole seconds.
        ///
        /// It counts from the end of the connection's last response. One that has been idle for
        /// longer is closed when a request needs a connection, or, while there are none, within
        /// about twice this time.
        public var idleConnectionTimeout: Duration = .seconds(60)
        /// When HTTP/2 is offered in the TLS handshake.
        public var http2 = HTTP2.automatic
        /// The age at which a connection is not used again, in whole seconds; nil for any age.
        ///
        /// Without it, a client that is always busy keeps its connections, and never uses new
        /// addresses of a name. libcurl closes a connection that is too old when a request needs
        /// one, and opens a new one. It remembers addresses for ``dnsCacheTime``. So servers that
        /// were added or moved are found after the sum of both times. A connection of HTTP/2 that
        /// is never without a request stays.
        public var maxConnectionAge: Duration?
        /// How long the addresses of a name are remembered, in whole seconds; zero for not at all.
        ///
        /// libcurl uses a fixed time, because the system does not report how long a name's
        /// addresses are valid.
        public var dnsCacheTime: Duration = .seconds(60)
        /// Whether the addresses of a name are tried in a random order, and not in the one that the
        /// system prefers (RFC 6724).
        ///
        /// Clients that share a resolver otherwise all connect to the first one. The order is drawn
        /// anew each time the name is looked up (``dnsCacheTime``). IPv6 still comes before IPv4.
        public var shufflesAddresses = false
        /// Receives the figures of the connections; nil for no figures.
        ///
        /// <doc:ConnectionPool> lists them.
        public var meter: (any GateMeter)?
        /// Streams at a time on one connection of HTTP/2.
        public var maxStreamsPerConnection = 100
        /// How long a thread polls before it sleeps: at most a millisecond; zero turns polling off.
        ///
        /// Sleeping and waking up takes longer than the answer of a server on the same machine or
        /// in the same rack. A thread polls only while answers come within this time, and if the
        /// process may use more than one core. Then a single caller also polls for its own answer,
        /// without another thread. 100 µs, from the 50 to 100 that Linux advises for its own busy
        /// polling (`net.core.busy_poll`).
        public var busyPolling: Duration = .microseconds(100)
        /// The proxies that requests go through: none, unless one is named or the environment asked.
        public var proxy = ProxyChoice.direct
        /// A Unix socket for all connections; the URL's host is not used to connect.
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

    /// When HTTP/2 is offered in the TLS handshake; a server that takes it carries many calls on
    /// one connection.
    public enum HTTP2: String, Sendable, CaseIterable {
        /// If the installed libcurl loses no answers over HTTP/2: from 8.14.1 on, with OpenSSL.
        ///
        /// <doc:HTTP2OverLibcurl> has the figures. Elsewhere servers are offered HTTP/1.1, and HTTP/2 only if
        /// they refuse that in the handshake (RFC 7301 §3.2).
        case automatic
        /// Always. A transport with a libcurl that cannot is refused as
        /// ``/TurnpikeCore/ClientError/Code/unsupported``.
        case on
        /// Never.
        case off
    }

    /// An address that stands for a host and port.
    public struct HostOverride: Sendable, Hashable {
        /// The host as it stands in URLs.
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
