// SPDX-License-Identifier: Apache-2.0

/// Sends requests and receives their responses, one exchange at a time.
///
/// Gates follow redirects, store cookies, cache, answer challenges and repeat requests; a transport
/// does none of that. The cancellation of the task that calls ``send(_:context:)`` matters only
/// until the method returns. After the return, the exchange ends early if a task that reads the
/// body is cancelled, if the body is released, or if the context is cancelled.
///
/// ``Exchange`` implements these rules. The transport passes received data to the exchange, and
/// stops when the exchange tells it to. If the content is available at once, as in a file, the
/// transport needs only a ``ResponseBodySource``.
public protocol Transport: Sendable {
    /// The capabilities of the transport.
    var capabilities: TransportCapabilities { get }

    /// Whether connections prove the client's identity, as a client certificate does.
    ///
    /// If true, a cache does not share responses between two clients (``Next/provesClient``). The
    /// default is true, which is safe but loses cache hits. A transport that wraps another
    /// transport must return the value of that transport.
    var provesClient: Bool { get }

    /// Whether bytes from a server can end the process; false by default.
    ///
    /// If true, the linter warns. A transport that wraps another one must return its value.
    var canEndProcess: Bool { get }

    /// Lines about the present state of the transport, such as its connections; none by default.
    var liveFigures: [LiveFigure] { get }

    /// Sends a request and returns when the head of its response has arrived.
    /// - Throws: ``ClientError`` with a ``TransferState``, from which gates decide whether sending
    ///   again is safe. If the task is cancelled, `CancellationError` at once. If the context is
    ///   cancelled, the error of ``Context/cancelReason`` at once.
    func send(_ request: Request, context: Context) async throws -> Response

    /// Cancels the running exchanges, closes the connections, and returns when all are closed.
    ///
    /// Later sends fail with ``ClientError/Code/cancelled``. The client waits for running exchanges
    /// before it calls this method (``Client/shutdown(grace:cancellingWith:)``).
    func shutdown() async
}

extension Transport {
    /// True: connections may prove the client's identity.
    public var provesClient: Bool { true }

    /// False: nothing that a server sends can end the process.
    public var canEndProcess: Bool { false }

    /// None.
    public var liveFigures: [LiveFigure] { [] }
}
