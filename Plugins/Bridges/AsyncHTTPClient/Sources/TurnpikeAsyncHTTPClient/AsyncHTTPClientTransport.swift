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
