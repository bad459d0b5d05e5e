// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
public import NIOCore
import Synchronization
public import TurnpikeEssentials

/// A transport over async-http-client, for services that have an `HTTPClient` already.
///
/// The connections, their limits, the proxy, TLS and the versions of HTTP are those of the
/// `HTTPClient`. All else is done by gates, once:
///
/// ```swift
/// let http = HTTPClient(eventLoopGroup: group)
/// let client = Client(
///     baseURL: "https://api.example.com/", transport: AsyncHTTPClientTransport(http))
/// // At the end of the service, the client comes first:
/// await client.shutdown()
/// try await http.shutdown()
/// ```
///
/// - Bodies stream both ways with back-pressure.
/// - A failure says whether a byte of the request may have been written, so that a retry is safe.
/// - No redirect is followed, whatever the configuration of the `HTTPClient` says
///   (``ClientTraits/returnsRedirects``).
/// - Content is decoded by the transport (Brotli, Zstandard, gzip and deflate, as far as the system
///   can), or by the `HTTPClient` (gzip and deflate; ``ClientTraits/decodesContent``). A request with
///   an `Accept-Encoding` of its own gets the bytes as they come.
/// - The transport sets no time limit. Those of the `HTTPClient` stay in force; they fail as
///   `connectTimeout` and `idleTimeout`.
/// - Spans are those of a gate. The `HTTPClient` would make its own on an event loop, where the
///   caller's task-local service context does not hold: set the `tracing.tracer` of its configuration
///   to nil.
public final class AsyncHTTPClientTransport: Transport {
    let holder: ClientHolder
    private let traits: ClientTraits
    private let running = RunningExchanges()

    /// Creates a transport over an `HTTPClient` of the caller, which the caller shuts down.
    /// - Parameters:
    ///   - client: The `HTTPClient`; any number of transports may share it.
    ///   - traits: Parts of its configuration that cannot be read from the `HTTPClient`. The
    ///     default is right for a configuration that its caller has not changed;
    ///     `HTTPClient.shared` needs `.decodesContent`.
    public init(_ client: HTTPClient, traits: ClientTraits = []) {
        holder = ClientHolder(client, isOwned: false)
        self.traits = traits
    }

    /// Creates a transport with its own `HTTPClient`, which ends with the transport.
    /// - Parameters:
    ///   - configuration: The configuration. Four parts of it are ignored: redirects are not
    ///     followed, content is decoded by the transport, connecting is not repeated
    ///     (`retryConnectionEstablishment`), because that is the task of a retry, and there is no
    ///     tracer, because its spans would have no parent.
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

    /// Live uploads, and sizes of encoded content where the transport decodes it.
    ///
    /// async-http-client has no trailer fields in either direction. It reports no phases of a
    /// connection, only the moment at which a request is sent.
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
    /// What it ends, and later sends, fail as `cancelled`. An `HTTPClient` of the transport's own is
    /// shut down, with its connections. A caller's `HTTPClient` is not shut down: do that
    /// afterwards.
    public func shutdown() async {
        let exchanges = running.close()
        for exchange in exchanges { exchange.shutDown() }
        for exchange in exchanges { await exchange.ended() }
        await holder.shutdown()
    }
}

extension AsyncHTTPClientTransport: PromptlyCancellable {
    /// It ends soon.
    public var promptness: Promptness { .always }
}
