// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NIOCore
import Synchronization
public import TurnpikeEssentials

/// A transport over async-http-client, for services that already have an `HTTPClient`.
///
/// The `HTTPClient` provides connections, connection limits, the proxy, TLS and the versions of
/// HTTP. The gates provide all other features:
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
/// - An error contains whether a byte of the request may have been sent. A retry is therefore safe.
/// - Redirects are not followed, with any configuration of the `HTTPClient`
///   (``ClientTraits/returnsRedirects``).
/// - Content is decoded by the transport (Brotli, Zstandard, gzip and deflate, if the system
///   supports them) or by the `HTTPClient` (gzip and deflate; ``ClientTraits/decodesContent``). If
///   a request has its own `Accept-Encoding`, the content is not decoded.
/// - The transport sets no time limits. The limits of the `HTTPClient` apply. Exceeded limits fail
///   as `connectTimeout` and `idleTimeout`.
/// - Set `tracing.tracer` of the configuration to nil, because a gate creates the spans. The
///   `HTTPClient` would create spans on an event loop, without the caller's service context.
public final class AsyncHTTPClientTransport: Transport {
    let holder: ClientHolder
    private let traits: ClientTraits
    private let running = RunningExchanges()

    /// Creates a transport over an `HTTPClient` that the caller owns and shuts down.
    /// - Parameters:
    ///   - client: The `HTTPClient`. Any number of transports may share the `HTTPClient`.
    ///   - traits: Parts of the configuration that the transport cannot read from the `HTTPClient`.
    ///     The default is correct for an unchanged configuration. `HTTPClient.shared` needs
    ///     `.decodesContent`.
    public init(_ client: HTTPClient, traits: ClientTraits = []) {
        holder = ClientHolder(client, isOwned: false)
        self.traits = traits
    }

    /// Creates a transport with a separate `HTTPClient`, which the transport shuts down.
    /// - Parameters:
    ///   - configuration: The configuration, of which four parts are ignored. Redirects are not
    ///     followed. The transport decodes content. `retryConnectionEstablishment` is off, because
    ///     a retry gate repeats requests. There is no tracer, because the spans would have no
    ///     parent.
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

    /// The transport supports live uploads.
    ///
    /// A transport that decodes content reports the sizes of encoded content. async-http-client
    /// supports no trailer fields. The transport reports the time of the send, but not the phases
    /// of a connection.
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

    /// Ends all exchanges at once, and waits for the end of the exchanges.
    ///
    /// The exchanges and all later sends fail as `cancelled`. The transport shuts down an
    /// `HTTPClient` that it has created. After that, shut down your own `HTTPClient`.
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

/// An owner of an `HTTPClient`, whose last release shuts down the transport's own `HTTPClient`.
final class ClientHolder: Sendable {
    let client: HTTPClient
    private let mustShutDown: Atomic<Bool>

    init(_ client: HTTPClient, isOwned: Bool) {
        self.client = client
        mustShutDown = Atomic(isOwned)
    }

    // In debug builds, async-http-client traps if an `HTTPClient` is released without a shutdown.
    deinit {
        if mustShutDown.load(ordering: .acquiring) { client.shutdown { [client] _ in _ = client } }
    }

    func shutdown() async {
        guard mustShutDown.exchange(false, ordering: .acquiringAndReleasing) else { return }
        // The shutdown fails only if the `HTTPClient` was already shut down.
        try? await client.shutdown()
    }
}

extension AsyncHTTPClientTransport {
    /// Parts of the configuration that the transport cannot read from an `HTTPClient`.
    public struct ClientTraits: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8

        /// Creates a set from bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The `HTTPClient` returns redirects, because `redirectConfiguration` is `.disallow`.
        ///
        /// Without this trait, the transport assumes the default, in which the `HTTPClient` follows
        /// redirects, and stops the `HTTPClient` at the first redirect. In this case, the caller
        /// gets the head of the redirect without content, and the connection is closed. If this
        /// trait is wrong, the call fails as `configuration` after the send of the second request.
        public static let returnsRedirects = Self(rawValue: 1 << 0)

        /// The `HTTPClient` decodes content, because `decompression` is `.enabled`, as in
        /// `HTTPClient.shared`.
        ///
        /// With this trait, the transport accepts gzip and deflate, and the `HTTPClient` decodes
        /// and limits the content. Without this trait, encoded content fails as `decompression`.
        public static let decodesContent = Self(rawValue: 1 << 1)
    }
}

final class RunningExchanges: Sendable {
    private enum State {
        case open([ObjectIdentifier: HTTPExchange])
        case closed
    }

    private let state = Mutex(State.open([:]))

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

    /// Prevents new exchanges, and returns the running exchanges.
    func close() -> [HTTPExchange] {
        state.withLock { state in
            guard case .open(let exchanges) = state else { return [] }
            state = .closed
            return Array(exchanges.values)
        }
    }
}
