// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The transport for services, over libcurl's event-driven interface.
///
/// libcurl is loaded at run time and is no build dependency (`libcurl.so.4`, which
/// FoundationNetworking also needs, or `libcurl.4.dylib`). All stacks for URLSession work too:
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/", transport: try CurlTransport())
/// ```
///
/// - Bodies stream both ways with back-pressure. A slow reader slows the server down. A request
///   body is read only as fast as the connection takes the bytes.
/// - A caller can read a response during the send of the request content. If a 2xx response ends
///   before the content, libcurl reports the end of the response only after the content.
/// - libcurl follows no redirect. libcurl stores no cookie, cache, password or HSTS entry, and
///   reads no settings from the environment or from files.
/// - libcurl never sends a request twice. If an idle connection was already closed, the exchange
///   fails, and the client repeats the request if a repeat is safe
///   (``/TurnpikeCore/TransferState/lostReusedConnection``). A request that an HTTP/2 server has
///   not processed (RFC 9113 §8.7) does not count as sent.
/// - Requests accept the codings Brotli, Zstandard, gzip and deflate that the system can decode.
///   Truncated content is an error. If a request has its own `Accept-Encoding`, the content is not
///   decoded, and `Content-Encoding` is the coding.
/// - Trailer fields (``/TurnpikeCore/RequestBody/followed(by:_:)``) are sent over HTTP/1.1, even
///   with TLS, because libcurl sends no trailers over HTTP/2.
/// - With `Expect: 100-continue`, the transport waits up to a second for the server before the
///   content. Other interim responses are ignored.
public final class CurlTransport: Transport {
    let library: CurlLibrary
    let configuration: Configuration
    let trustFiles: TrustFiles?
    let lane: CurlLane
    let http3: HTTP3Lane?
    var options: CurlOptions { lane.options }
    private var engines: [CurlEngine] { lane.engines + (http3?.lane.engines ?? []) }
    let upgrades: UpgradeLoop
    /// Whether the transport offers HTTP/2 to servers over TLS.
    public let offersHTTP2: Bool

    /// Returns the capabilities of a transport with this configuration, without creating the
    /// transport.
    /// - Throws: The errors of ``init(configuration:)`` for this configuration.
    public static func capabilities(
        with configuration: Configuration
    ) throws -> TransportCapabilities {
        try options(configuration).usual.capabilities
    }

    /// Whether the installed libcurl supports HTTP/2.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is no libcurl.
    public static var hasHTTP2: Bool { get throws { try CurlLibrary.load().hasHTTP2 } }

    /// Creates a transport with its own connections.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if libcurl is missing or lacks a
    ///   feature. ``/TurnpikeCore/ClientError/Code/configuration`` if a file in the configuration
    ///   cannot be read.
    public init(configuration: Configuration = Configuration()) throws {
        self.configuration = configuration
        let (options, http3) = try Self.options(configuration)
        library = options.library
        upgrades = UpgradeLoop(options)
        trustFiles = options.trustFiles
        offersHTTP2 = options.offersHTTP2
        lane = try CurlLane(options)
        do {
            self.http3 = try http3.map { HTTP3Lane(lane: try CurlLane($0)) }
        } catch {
            for engine in lane.engines { engine.stop() }
            throw error
        }
    }

    // Bodies may still be read after the release of the transport and the client.
    deinit { for engine in engines { engine.stop() } }

    /// An executor on the thread that waits for the network.
    ///
    /// A task on this executor wakes no other thread. Tasks on this executor save an eighth to a
    /// quarter of the CPU of a short exchange, but share one core:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(transport.executor) {
    ///     for id in ids { try await forward(client.get("items/\(id)").data()) }
    /// }
    /// ```
    ///
    /// The executor is suitable for tasks with little work, because these tasks share one thread
    /// with the network. A task that computes for a long time or blocks delays every exchange of
    /// the transport. Child tasks and gates run on this thread too, but actors with their own
    /// executor and plain `Task { }` do not. After the transport's shutdown, the remaining tasks
    /// run on the system's threads. With several engines, the executor uses the thread of the first
    /// engine, and exchanges of other engines save no CPU.
    ///
    /// The design follows tokio's current-thread runtime and SwiftNIO's event loops (SE-0417).
    public var executor: any TaskExecutor { lane.engines[0] }

    /// The reason why replaced files of ``Configuration/trust`` cannot be used, or nil.
    ///
    /// Until the repair, the transport uses the old content. This property reads the files again.
    public var trustFault: String? { trustFiles?.current().fault }

    /// The features of the installed libcurl.
    ///
    /// If not all requests use a proxy, a request can have a connect target
    /// (``/TurnpikeCore/TransportCapabilities/connectTargets``). If not all connections go to a
    /// proxy or the ``Configuration/unixSocket``, the address rule of a request applies
    /// (``/TurnpikeCore/TransportCapabilities/addressRules``).
    public var capabilities: TransportCapabilities { options.capabilities }

    /// Whether there is a client certificate (``Trust/clientCertificate``).
    public var provesClient: Bool { options.configuration.trust.clientCertificate != nil }

    /// The number of running exchanges, and with a ``Configuration/meter`` of connections.
    public var liveFigures: [LiveFigure] {
        let pools = engines.compactMap(\.connections)
        let (open, active) = pools.reduce((0, 0)) { ($0.0 + $1.open, $0.1 + $1.active) }
        let exchanges = engines.reduce(0) { $0 + $1.load.load(ordering: .relaxed) }
        return [
            LiveFigure("exchanges", "\(exchanges) under way"),
            LiveFigure("connections", pools.isEmpty ? "unknown" : "\(open) open, \(active) active"),
        ]
    }

    /// Sends a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        let mayUpgrade = !request.options.isEmpty && options.http3 != .only
        if mayUpgrade, let name = request.options.upgrade {
            return try await upgrade(request, to: name, context: context)
        }
        return try await send(request, context: context) { engine, transfer in
            engine.start(transfer, isQuick: !transfer.request.isSecure)
        }
        .response
    }

    /// Sends a request with a closure that starts the request, or passes the request on for the
    /// start.
    /// - Returns: The response, and a number of the connection that is unique among the open
    ///   connections, or 0 if unknown.
    func send(
        _ request: Request, context: Context, over lane: CurlLane? = nil,
        starting start: (CurlEngine, CurlTransfer) -> Void
    ) async throws -> (response: Response, connection: Int32) {
        try context.checkCancellation()
        let begin = context.timeSource.now
        let lane = try lane ?? self.lane(for: request, at: begin)
        let body = request.body
        let upload = body.isEmpty ? nil : try CurlUpload(body, context: context)
        let isFresh = context[HasLostConnection.self]
        let transfer = CurlTransfer(
            request,
            wire: try CurlRequest(
                request, body: body, length: upload?.length, decodes: true,
                isFresh: isFresh,
                route: request.options.isEmpty ? nil : try route(of: request)),
            upload: upload, offersHTTP2: lane.options.sharesConnections)
        let origin = http3 == nil ? nil : alternativeOrigin(of: request)
        if let http3, let origin, lane.options.http3 == .automatic {
            transfer.alternative = AlternativeOrigin(
                origin: origin, services: http3.alternatives, timeSource: context.timeSource)
        }
        if transfer.request.isSecure, let (trust, news) = lane.options.trustFiles?.currentWithNews()
        {
            transfer.trust = trust
            if let news { context.report(news, by: "CurlTransport") }
        }
        let target = transfer.request.route?.target
        let engine = lane.engine(for: request, at: target)
        let exchange = Exchange(
            context: context,
            onResume: { engine.post(transfer, .receive) },
            onCancel: { _ in engine.post(transfer, .cancel) })
        transfer.feed(exchange)
        upload?.start { [weak transfer] in
            if let transfer { engine.post(transfer, .send) }
        }
        start(engine, transfer)
        let response: Response
        do {
            response = try await exchange.response()
        } catch {
            transfer.alternative?.noteFailure(error)
            let times = transfer.takeTimes()
            times?.report(in: context, since: begin, at: target)
            if (error as? ClientError)?.transfer?.lostReusedConnection == true {
                // With HTTP/2, all requests share one connection, which has ended.
                context[HasLostConnection.self] = times?.carriesMany == false
            }
            throw error
        }
        if isFresh { context[HasLostConnection.self] = false }
        if let origin { http3?.alternatives.note(response.head, of: origin, at: begin) }
        let times = transfer.takeTimes()
        times?.report(in: context, since: begin, at: target)
        let isFinal = transfer.request.takesContentAsItComes
        return (isFinal ? response : try response.decoded(), times?.connection ?? 0)
    }

    /// Ends all exchanges at once, and closes the connections.
    ///
    /// Running and later exchanges fail as ``/TurnpikeCore/ClientError/Code/cancelled``. A client
    /// first waits for its calls (``/TurnpikeCore/Client/shutdown(grace:cancellingWith:)``).
    /// If a transport is released
    /// without a shutdown, running bodies can be read to the end. In this case, the transport
    /// closes the connections at the end of the bodies.
    public func shutdown() async {
        await upgrades.shutdown()
        for engine in engines { await engine.shutdown() }
        await configuration.meter?.flush()
    }

    func route(of request: Request) throws -> CurlRoute? {
        let options = request.options
        if options.connectTarget == nil, options.addressRule == nil { return nil }
        return try CurlRoute(request, self.options)
    }
}

// Whether a reused HTTP/1.1 connection ended during the call's last send. In this case, the next
// send uses a new connection, because other idle connections may have ended too.
private enum HasLostConnection: ContextKey {
    static var defaultValue: Bool { false }
}

extension CurlTransport: PromptlyCancellable {
    /// The shutdown always ends soon.
    public var promptness: Promptness { .always }
}

extension CurlTimes {
    /// Reports the times, which libcurl counts from the beginning of the exchange.
    func report(in context: Context, since start: MonotonicInstant, at target: ConnectTarget?) {
        func instant(_ microseconds: Int64) -> MonotonicInstant? {
            guard microseconds > 0 else { return nil }
            return start.advanced(by: .microseconds(microseconds))
        }
        var reports: [TransportReport] = []
        reports.reserveCapacity(5)
        if let instant = instant(lookup) { reports.append(.resolved(at: instant)) }
        // Without a connection, libcurl reports "reused".
        if let instant = instant(isReused ? ready : connect) {
            reports.append(
                .connected(
                    at: instant, isReused: ready > 0 ? isReused : nil,
                    peer: target == nil ? peer : target?.peer(peer)))
        }
        if let instant = instant(handshake) { reports.append(.secured(at: instant)) }
        if let instant = instant(ready) { reports.append(.ready(at: instant)) }
        if let instant = instant(firstByte) { reports.append(.firstByte(at: instant)) }
        context.report(all: reports)
    }
}
