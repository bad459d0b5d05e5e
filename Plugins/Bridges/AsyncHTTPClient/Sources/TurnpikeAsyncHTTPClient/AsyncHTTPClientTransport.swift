// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NIOCore
import Synchronization
public import TurnpikeEssentials

/// A transport over async-http-client, for services that already have an `HTTPClient`.
///
/// The `HTTPClient` provides the connections, their limits, the proxy, TLS and the versions of
/// HTTP. Gates do everything else, and do it once:
///
/// ```swift
/// let http = HTTPClient(eventLoopGroup: group)
/// let client = Client(
///     baseURL: "https://api.example.com/", transport: AsyncHTTPClientTransport(http))
/// // At the end of the service, shut down the client first:
/// await client.shutdown()
/// try await http.shutdown()
/// ```
///
/// - Request and response bodies are streamed with back-pressure.
/// - A failure says whether a byte of the request may have been written, so that a retry is safe.
/// - Redirects are not followed, whatever the configuration of the `HTTPClient`
///   (``ClientTraits/returnsRedirects``).
/// - The transport decodes content (Brotli, Zstandard, gzip and deflate, if the system supports
///   them), or the `HTTPClient` does (gzip and deflate; ``ClientTraits/decodesContent``). If a
///   request has its own `Accept-Encoding`, the content is not decoded.
/// - The transport sets no time limits. The limits of the `HTTPClient` apply; they fail as
///   `connectTimeout` and `idleTimeout`.
/// - A gate creates the spans. The `HTTPClient` would create its own spans on an event loop,
///   without the caller's task-local service context, so set the `tracing.tracer` of its
///   configuration to nil.
public final class AsyncHTTPClientTransport: Transport {
    let holder: ClientHolder
    private let traits: ClientTraits
    private let running = RunningExchanges()

    /// Creates a transport over an `HTTPClient` that the caller owns and shuts down.
    /// - Parameters:
    ///   - client: The `HTTPClient`; any number of transports may share it.
    ///   - traits: Parts of its configuration that cannot be read from the `HTTPClient`. The
    ///     default is right for an unchanged configuration; `HTTPClient.shared` needs
    ///     `.decodesContent`.
    public init(_ client: HTTPClient, traits: ClientTraits = []) {
        holder = ClientHolder(client, isOwned: false)
        self.traits = traits
    }

    /// Creates a transport with its own `HTTPClient`, which it shuts down at its end.
    /// - Parameters:
    ///   - configuration: The configuration. Four parts are ignored. Redirects are not followed.
    ///     The transport decodes content. Connecting is not repeated
    ///     (`retryConnectionEstablishment`), because a retry does that. There is no tracer, because
    ///     its spans would have no parent.
    ///   - group: The event loops.
    public init(
        configuration: HTTPClient.Configuration = HTTPClient.Configuration(),
        eventLoopGroup group: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
    ) {
        var configuration = configuration
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tracing.tracer = nil
        holder = ClientHolder(
            HTTPClient(eventLoopGroup: group, configuration: configuration), isOwned: true)
        traits = .returnsRedirects
    }

    /// Live uploads, and the sizes of encoded content if the transport decodes it.
    ///
    /// async-http-client supports no trailer fields. It does not report the phases of a connection,
    /// only the time at which a request is sent.
    public var capabilities: TransportCapabilities {
        traits.contains(.decodesContent) ? .liveUpload : [.liveUpload, .encodedSizes]
    }

    /// Sends a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        let upload = request.body.isEmpty ? nil : try Upload(request.body, holder.client)
        let wire = try WireRequest(request, body: upload?.body, traits)
        let exchange = HTTPExchange(
            request, traits: traits, context: context, upload: upload, holder: holder)
        guard running.add(exchange) else { throw Fault.wasShutDown(.connecting) }
        exchange.start(wire) { [running] in running.remove($0) }
        let response = try await exchange.response()
        return wire.isDecoded ? try response.decoded() : response
    }

    /// Ends all exchanges at once, and returns when they have ended.
    ///
    /// The exchanges and all later sends fail as `cancelled`. The transport's own `HTTPClient` and
    /// its connections are shut down. A caller's `HTTPClient` is not: shut it down afterwards.
    public func shutdown() async {
        let exchanges = running.close()
        for exchange in exchanges { exchange.shutDown() }
        for exchange in exchanges { await exchange.ended() }
        await holder.shutdown()
    }
}

extension AsyncHTTPClientTransport: PromptlyCancellable {
    /// A cancelled exchange always ends promptly.
    public var promptness: Promptness { .always }
}

/// Holds an `HTTPClient`.
///
/// If the transport owns it, it is shut down with the last holder.
final class ClientHolder: Sendable {
    let client: HTTPClient
    private let mustShutDown: Atomic<Bool>

    init(_ client: HTTPClient, isOwned: Bool) {
        self.client = client
        mustShutDown = Atomic(isOwned)
    }

    // async-http-client traps in debug builds if an `HTTPClient` is released without a shutdown.
    deinit {
        if mustShutDown.load(ordering: .acquiring) { client.shutdown { [client] _ in _ = client } }
    }

    func shutdown() async {
        guard mustShutDown.exchange(false, ordering: .acquiringAndReleasing) else { return }
        // The shutdown fails only if the `HTTPClient` was shut down before.
        try? await client.shutdown()
    }
}

extension AsyncHTTPClientTransport {
    /// Parts of the configuration of an `HTTPClient` that the transport cannot read from it.
    public struct ClientTraits: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8

        /// Creates a set from bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The `HTTPClient` returns redirects: its `redirectConfiguration` is `.disallow`.
        ///
        /// Without this trait, the transport assumes that the `HTTPClient` follows redirects, which
        /// is the default of async-http-client, and stops it. The caller gets the head of the
        /// redirect, but cannot read its content, and the connection is closed. If this trait is
        /// wrong, the call fails as `configuration` after the second request was sent.
        public static let returnsRedirects = Self(rawValue: 1 << 0)

        /// The `HTTPClient` decodes content: its `decompression` is `.enabled`, as for
        /// `HTTPClient.shared`.
        ///
        /// The transport then asks for gzip and deflate, and leaves decoding and its limit to the
        /// `HTTPClient`. If this trait is missing, encoded content fails as `decompression`.
        public static let decodesContent = Self(rawValue: 1 << 1)
    }
}

/// The exchanges of a transport that have not ended.
final class RunningExchanges: Sendable {
    private enum State {
        case open([ObjectIdentifier: HTTPExchange])
        case closed
    }

    private let state = Mutex(State.open([:]))

    /// Adds an exchange, unless the transport was shut down.
    func add(_ exchange: HTTPExchange) -> Bool {
        state.withLock { state in
            guard case .open(var exchanges) = state else { return false }
            state = .closed  // Avoids a copy of the dictionary.
            exchanges[ObjectIdentifier(exchange)] = exchange
            state = .open(exchanges)
            return true
        }
    }

    func remove(_ exchange: HTTPExchange) {
        state.withLock { state in
            guard case .open(var exchanges) = state else { return }
            state = .closed  // Avoids a copy of the dictionary.
            exchanges[ObjectIdentifier(exchange)] = nil
            state = .open(exchanges)
        }
    }

    /// Prevents further exchanges from starting, and returns those that have not ended.
    func close() -> [HTTPExchange] {
        state.withLock { state in
            guard case .open(let exchanges) = state else { return [] }
            state = .closed
            return Array(exchanges.values)
        }
    }
}
