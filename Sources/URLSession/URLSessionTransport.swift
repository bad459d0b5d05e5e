// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
public import TurnpikeCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests with Foundation's URLSession, which on Linux comes from FoundationNetworking.
///
/// The transport uses only delegate tasks, makes every call of URLSession on separate queues, and
/// orders cancellation and completion with a lock. Without these measures, URLSession on Linux
/// deadlocks or traps after cancellations. The transport corrects the following behaviour:
///
/// - The transport follows no redirects, stores no cookies, credentials or responses, and returns a
///   Basic challenge as a plain 401.
/// - The transport skips 1xx responses and splits joined `Set-Cookie` lines. If the content was
///   decoded, the transport removes `Content-Encoding` and `Content-Length`.
/// - Request bodies have exact lengths. If a kept-alive connection has ended, the whole body is
///   sent again, but only if the request may be repeated. A stream is first collected in an unnamed
///   file of mode 0600.
/// - If the caller reads more slowly than the server sends, the transport stores content on disk,
///   not in memory, because FoundationNetworking has no backpressure.
///
/// The article <doc:URLSessionLimits> lists the remaining limits.
public final class URLSessionTransport: Transport {
    /// The configuration of the transport.
    public struct Configuration: Sendable {
        /// The maximum number of simultaneous connections to one host.
        ///
        /// If all connections are in use, further calls wait.
        public var maxConnectionsPerHost = 64
        /// The maximum number of bytes of a response in memory.
        public var maxBufferedBytes = 1_048_576
        /// The maximum number of further bytes of a response in a temporary file.
        public var maxSpilledBytes: Int64 = 16 << 30
        /// The maximum number of bytes of a streamed request body, which is collected before the
        /// send.
        public var maxSpooledBytes: Int64 = 16 << 30

        /// Creates the default configuration.
        public init() {}
    }

    private let configuration: Configuration
    private let driver: URLSessionDriver
    // Whether the note about the default transport is still to be logged.
    private let isUntold: Atomic<Bool>

    /// Creates a transport with a separate session.
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - isChosen: Whether the program has chosen this transport. If false, the first log of a
    ///     call on Linux contains a note that a server can crash the process.
    public init(configuration: Configuration = Configuration(), isChosen: Bool = true) {
        self.configuration = configuration
        driver = URLSessionDriver(maxConnectionsPerHost: configuration.maxConnectionsPerHost)
        isUntold = Atomic(!isChosen && Self.isFoundationNetworking)
    }

    private static var isFoundationNetworking: Bool {
        #if canImport(FoundationNetworking)
        true
        #else
        false
        #endif
    }

    private func tell(in context: Context) {
        guard isUntold.load(ordering: .relaxed), isUntold.exchange(false, ordering: .relaxed)
        else { return }
        // The message is created only if a logger receives the note.
        var isTold = false
        func text() -> String {
            isTold = true
            return
                "sends over URLSession because no transport was chosen; on Linux, some responses can"
                + " end the process; `transport: try CurlTransport()` prevents this"
        }
        context.report(text(), by: "Client")
        if !isTold { isUntold.store(true, ordering: .relaxed) }
    }

    // The caller may read bodies after the release of the transport and the client.
    deinit { driver.invalidate(cancelling: false) }

    /// The transport has no optional capability.
    public var capabilities: TransportCapabilities { [] }

    /// False, because the transport sends no client certificate.
    public var provesClient: Bool { false }

    /// True on Linux, because FoundationNetworking traps on some responses
    /// (<doc:URLSessionLimits>).
    public var canEndProcess: Bool { Self.isFoundationNetworking }

    /// Sends a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        tell(in: context)
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
        ) { [weak task] in task?.cancel(because: $0) }
        task.start(feeding: exchange)
        return try await exchange.response()
    }

    /// Cancels running exchanges and closes the sessions.
    ///
    /// Later sends fail with ``/TurnpikeCore/ClientError/Code/cancelled``.
    public func shutdown() async { driver.invalidate(cancelling: true) }
}

extension URLSessionTransport: PromptlyCancellable {
    /// A cancelled send ends soon.
    public var promptness: Promptness { .always }
}
