import Dispatch
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The default transport: Foundation's URLSession, on Linux that of FoundationNetworking.
///
/// It uses delegate tasks alone, keeps every call into URLSession on a queue of its own, and orders
/// cancellation against completion by a lock: used in another way, URLSession on Linux deadlocks or
/// traps under cancellation. What it repairs:
///
/// - it follows no redirect, stores no cookie, credential or response, and ends a Basic challenge
///   as a plain 401;
/// - 1xx responses are passed over, `Set-Cookie` lines are taken apart, `Content-Encoding` and
///   `Content-Length` go when the content was decoded;
/// - request bodies have exact lengths, and are replayed in full on a kept-alive connection that
///   turned out dead if the request may be sent twice, else not at all. A stream is collected
///   first, in a file without a name of mode 0600;
/// - a reader slower than the server costs disk, not memory (FoundationNetworking has no
///   backpressure).
///
/// What cannot be repaired stands in <doc:URLSessionLimits>.
public final class URLSessionTransport: Transport {
    /// How the transport behaves.
    public struct Configuration: Sendable {
        /// Connections to one host at a time.
        ///
        /// More calls wait for a connection.
        public var maxConnectionsPerHost = 64
        /// The bytes of a response that wait in memory for their reader.
        public var maxBufferedBytes = 1_048_576
        /// The bytes of a response that wait in a temporary file beyond that.
        public var maxSpilledBytes: Int64 = 16 << 30
        /// The bytes of a streamed request body that are collected before it is sent.
        public var maxSpooledBytes: Int64 = 16 << 30

        /// Creates the default configuration.
        public init() {}
    }

    private let configuration: Configuration
    private let driver: URLSessionDriver

    /// Creates a transport with a session of its own.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        driver = URLSessionDriver(maxConnectionsPerHost: configuration.maxConnectionsPerHost)
    }

    // Bodies may still be read after the transport, and its client, were let go of.
    deinit { driver.invalidate(cancelling: false) }

    /// Sizes before decoding, where a `Content-Length` tells.
    public var capabilities: TransportCapabilities {
        #if canImport(FoundationNetworking)
        []
        #else
        [.http2, .ipv6Literals]
        #endif
    }

    /// Sends a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        if let fault = URLSessionRequest.fault(of: request) { throw fault }
        let upload = try await Upload(
            request.body, context: context, limit: configuration.maxSpooledBytes)
        let task = URLSessionExchange(
            url: request.url, request: URLSessionRequest.make(request, upload: upload),
            isRepeatable: request.isRepeatable, upload: upload, driver: driver)
        let exchange = Exchange(
            context: context,
            flow: .spilling(
                memoryLimit: configuration.maxBufferedBytes,
                fileLimit: configuration.maxSpilledBytes)
        ) { [weak task] _ in task?.cancel() }
        task.start(feeding: exchange)
        return try await exchange.response()
    }

    /// Cancels what is under way and closes the session.
    ///
    /// Later sends fail as ``ClientError/Code/cancelled``.
    public func shutdown() async { driver.invalidate(cancelling: true) }
}

extension URLSessionTransport: Heeding {
    package var heed: Heed { .always }
}
