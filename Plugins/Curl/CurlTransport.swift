// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The transport for services: libcurl's event-driven interface, without a dependency to build.
///
/// libcurl is found when the program runs (`libcurl.so.4`, which FoundationNetworking needs anyway;
/// `libcurl.4.dylib`). The same stacks run over it as over URLSession:
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/", transport: try CurlTransport())
/// ```
///
/// - Bodies stream both ways with back-pressure: a reader that does not pull holds the server
///   back, and a request body is read as fast as the connection takes it.
/// - libcurl follows no redirect, keeps no cookie, cache, password or HSTS entry, and asks neither
///   the environment nor a file for anything.
/// - libcurl never sends a request twice: where it would, because a kept-alive connection turned out
///   to be dead, the exchange fails, and the client sends again what is repeatable
///   (``/TurnpikeCore/TransferState/lostReusedConnection``). A request that an HTTP/2 server has
///   not processed (RFC 9113 §8.7) does not count as sent.
/// - Brotli, Zstandard, gzip and deflate are asked for, as far as the system can decode them, and
///   decoded. Content that is cut short is an error. A request with an `Accept-Encoding` of its own
///   gets the bytes as they come, whatever coding the server has chosen: `Content-Encoding` tells.
/// - Trailer fields of a request (``/TurnpikeCore/RequestBody/followed(by:_:)``) go out by HTTP/1.1, over
///   TLS too: libcurl sends none by HTTP/2.
/// - `Expect: 100-continue` is sent where the request has it, and then the content waits for the
///   server up to a second. Other interim responses are passed over.
public final class CurlTransport: Transport {
    let library: CurlLibrary
    let configuration: Configuration
    let trustFiles: TrustFiles?
    private let engines: [CurlEngine]
    let options: CurlOptions
    let upgrades: UpgradeLoop
    /// Whether HTTP/2 is offered to servers over TLS.
    public let offersHTTP2: Bool

    /// Returns what a transport with this configuration can do; nothing is opened.
    /// - Throws: The errors of ``init(configuration:)`` for it.
    public static func capabilities(
        with configuration: Configuration
    ) throws -> TransportCapabilities {
        try CurlOptions(configuration, library: .load()).capabilities
    }

    /// Whether the libcurl that was found has HTTP/2.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is none.
    public static var hasHTTP2: Bool { get throws { try CurlLibrary.load().hasHTTP2 } }

    /// Creates a transport with connections of its own.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` where there is no libcurl, or it
    ///   cannot do what the configuration wants; ``/TurnpikeCore/ClientError/Code/configuration``
    ///   where a file that it names cannot be read.
    public init(configuration: Configuration = Configuration()) throws {
        library = try CurlLibrary.load()
        self.configuration = configuration
        let options = try CurlOptions(configuration, library: library)
        self.options = options
        upgrades = UpgradeLoop(options)
        trustFiles = options.trustFiles
        offersHTTP2 = options.offersHTTP2
        var engines: [CurlEngine] = []
        do {
            for _ in 0..<max(1, configuration.engines) {
                engines.append(try CurlEngine(options: options))
            }
        } catch {
            // Otherwise the threads of the other engines would continue.
            for engine in engines { engine.stop() }
            throw error
        }
        self.engines = engines
    }

    // Bodies may still be read after the transport, and its client, were let go of.
    deinit { for engine in engines { engine.stop() } }

    /// An executor on the thread that waits for the network.
    ///
    /// Between a task that sends and the network there is then no other thread to wake, which saves
    /// an eighth to a quarter of the CPU of a short exchange; but all of them share one core:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(transport.executor) {
    ///     for id in ids { try await forward(client.get("items/\(id)").data()) }
    /// }
    /// ```
    ///
    /// It suits tasks that do little work. All of them share one thread with the network. So a task
    /// that computes for long, or blocks, delays every exchange of the transport; move such work
    /// elsewhere. Child tasks and gates run there too; actors with an executor of their own, and
    /// plain `Task { }`, do not. After the shutdown of the transport, the remaining tasks run on
    /// the system's threads. With several engines it is the first one's thread, and exchanges of
    /// the others cost what they cost from anywhere.
    ///
    /// From tokio's current-thread runtime and SwiftNIO's event loops; SE-0417.
    public var executor: any TaskExecutor { engines[0] }

    /// The reason for which replaced files of the trust cannot be used, with their names; nil if
    /// there is none.
    ///
    /// Their old content is used until this is repaired. The files are looked at anew.
    public var trustFault: String? { trustFiles?.current().fault }

    /// The features of the installed libcurl.
    ///
    /// A request can name where its connection goes
    /// (``/TurnpikeCore/TransportCapabilities/connectTargets``) unless all requests go through a
    /// proxy. Its rule about addresses is asked (``/TurnpikeCore/TransportCapabilities/addressRules``)
    /// unless all connections go to a proxy or to the ``Configuration/unixSocket``.
    public var capabilities: TransportCapabilities { options.capabilities }

    /// Whether there is a client certificate (``Trust/clientCertificate``).
    public var provesClient: Bool { options.configuration.trust.clientCertificate != nil }

    /// Sends a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        if !request.options.isEmpty, let name = request.options.upgrade {
            return try await upgrade(request, to: name, context: context)
        }
        return try await send(request, context: context) { engine, transfer in
            engine.start(transfer, isQuick: !transfer.request.isSecure)
        }
        .response
    }

    /// Sends a request; a closure starts it, or passes it on to the code that starts it.
    /// - Returns: The response, and a number of its connection that no other open one has; 0 if it is
    ///   unknown.
    func send(
        _ request: Request, context: Context, starting start: (CurlEngine, CurlTransfer) -> Void
    ) async throws -> (response: Response, connection: Int32) {
        try context.checkCancellation()
        let begin = context.timeSource.now
        let body = request.body
        let upload = body.isEmpty ? nil : try CurlUpload(body, context: context)
        let isFresh = context[HasLostConnection.self]
        let transfer = CurlTransfer(
            request,
            wire: try CurlRequest(
                request, body: body, length: upload?.length, decodes: true,
                isFresh: isFresh,
                route: request.options.isEmpty ? nil : try route(of: request)),
            upload: upload, offersHTTP2: offersHTTP2)
        if transfer.request.isSecure, let (trust, news) = trustFiles?.currentWithNews() {
            transfer.trust = trust
            if let news { context.report(news, by: "CurlTransport") }
        }
        let target = transfer.request.route?.target
        let engine = engine(for: request, at: target)
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
            let times = transfer.takeTimes()
            times?.report(in: context, since: begin, at: target)
            if (error as? ClientError)?.transfer?.lostReusedConnection == true {
                // Over HTTP/2 there was one connection for all requests, and it has ended.
                context[HasLostConnection.self] = times?.isHTTP2 == false
            }
            throw error
        }
        if isFresh { context[HasLostConnection.self] = false }
        let times = transfer.takeTimes()
        times?.report(in: context, since: begin, at: target)
        let isFinal = transfer.request.takesContentAsItComes
        return (isFinal ? response : try response.decoded(), times?.connection ?? 0)
    }

    /// Ends what is under way at once, closes the connections, and returns when they are closed.
    ///
    /// What it ends, and later sends, fail as ``/TurnpikeCore/ClientError/Code/cancelled``. It does
    /// not wait for calls: a client does that before, for the time that
    /// ``/TurnpikeCore/Client/shutdown(grace:cancellingWith:)`` allows. A transport that is let go of without a
    /// shutdown lets bodies come to their end, then closes its connections by itself.
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

    // Connections to one origin, or to one endpoint of it, are shared, so they are in one engine.
    private func engine(for request: Request, at target: ConnectTarget?) -> CurlEngine {
        if engines.count == 1 { return engines[0] }
        let hash = request.origin.map { Destination($0, at: target).hashValue } ?? 0
        return engines[Int(UInt(bitPattern: hash) % UInt(engines.count))]
    }
}

/// Whether a kept-alive connection of HTTP/1.1 ended under the call's last send: other idle
/// connections may have ended as well, so the next send uses a new one.
private enum HasLostConnection: ContextKey {
    static var defaultValue: Bool { false }
}

extension CurlTransport: PromptlyCancellable {
    /// It ends soon.
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
        // One for each phase.
        reports.reserveCapacity(5)
        if let instant = instant(lookup) { reports.append(.resolved(at: instant)) }
        // If no connection was made, libcurl reports "reused".
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
