// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NIOCore
import Synchronization
public import TurnpikeEssentials

/// A transport over async-http-client, for services that already have an `HTTPClient`.
///
/// The `HTTPClient` provides the connections, their limits, the proxy, TLS and the versions of
/// HTTP. The gates do everything else:
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
/// - An error says whether a byte of the request may have been sent, so that a retry is safe.
/// - Redirects are not followed, whatever the configuration of the `HTTPClient` says
///   (``ClientTraits/returnsRedirects``).
/// - Either the transport decodes content (Brotli, Zstandard, gzip and deflate, if the system
///   supports them), or the `HTTPClient` does (gzip and deflate; ``ClientTraits/decodesContent``).
///   If a request has its own `Accept-Encoding`, the content is not decoded.
/// - The transport sets no time limits. The limits of the `HTTPClient` apply, and fail as
///   `connectTimeout` and `idleTimeout`.
/// - A gate creates the spans, so set the `tracing.tracer` of the configuration to nil. The
///   `HTTPClient` would create spans on an event loop, without the caller's task-local service
///   context.
public final class AsyncHTTPClientTransport: Transport {
    let holder: ClientHolder
    private let traits: ClientTraits
    private let running = RunningExchanges()

    /// Creates a transport over an `HTTPClient` that the caller owns and shuts down.
    /// - Parameters:
    ///   - client: The `HTTPClient`. Any number of transports may share it.
    ///   - traits: Parts of the configuration that the transport cannot read from the `HTTPClient`.
    ///     The default is right for an unchanged configuration. `HTTPClient.shared` needs
    ///     `.decodesContent`.
    public init(_ client: HTTPClient, traits: ClientTraits = []) {
        holder = ClientHolder(client, isOwned: false)
        self.traits = traits
    }

    /// Creates a transport with its own `HTTPClient`, which the transport shuts down.
    /// - Parameters:
    ///   - configuration: The configuration, of which four parts are ignored. Redirects are not
    ///     followed. The transport decodes content. The `HTTPClient` does not repeat connecting
    ///     (`retryConnectionEstablishment`), because a retry does. There is no tracer, because the
    ///     spans would have no parent.
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
    /// If it decodes content, it reports the sizes of encoded content. async-http-client supports
    /// no trailer fields. The transport reports only when a request is sent, not the phases of a
    /// connection.
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

    /// Ends all exchanges at once, and returns when all have ended.
    ///
    /// The exchanges and all later sends fail as `cancelled`. The transport's own `HTTPClient` is
    /// shut down. Shut down your own `HTTPClient` after this.
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

/// Holds an `HTTPClient`; if the transport owns it, the last release of the holder shuts it down.
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

        /// The `HTTPClient` returns redirects: its `redirectConfiguration` is `.disallow`.
        ///
        /// Without this trait, the transport assumes that the `HTTPClient` follows redirects, as is
        /// the default, and stops it at the first redirect. The caller then gets the head of the
        /// redirect without its content, and the connection is closed. If this trait is wrong, the
        /// call fails as `configuration` after the second request was sent.
        public static let returnsRedirects = Self(rawValue: 1 << 0)

        /// The `HTTPClient` decodes content: its `decompression` is `.enabled`, as for
        /// `HTTPClient.shared`.
        ///
        /// The transport then asks for gzip and deflate, and the `HTTPClient` decodes and limits
        /// the content. If this trait is missing, encoded content fails as `decompression`.
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

    /// Prevents new exchanges, and returns those that have not ended.
    func close() -> [HTTPExchange] {
        state.withLock { state in
            guard case .open(let exchanges) = state else { return [] }
            state = .closed
            return Array(exchanges.values)
        }
    }
}
