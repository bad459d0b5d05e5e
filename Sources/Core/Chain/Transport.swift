// SPDX-License-Identifier: Apache-2.0

/// Sends requests and receives their responses, one exchange at a time.
///
/// Gates follow redirects, store cookies, cache, answer challenges and repeat requests. A transport
/// does none of this work. The cancellation of the task that calls ``send(_:context:)`` has an
/// effect only until the method returns. After the return, the exchange ends early if the context
/// or a task that reads the body is cancelled, or if the body is released.
///
/// An ``Exchange`` follows the rules for the end of an exchange. The transport passes received data
/// to the exchange, and stops if the exchange requires a stop. If the content is available at once,
/// as in a file, the transport needs only a ``ResponseBodySource``.
public protocol Transport: Sendable {
    /// The capabilities of the transport.
    var capabilities: TransportCapabilities { get }

    /// Whether connections prove the identity of the client, for example with a client certificate.
    ///
    /// If true, a cache does not share responses between two clients (``Next/provesClient``). The
    /// default is true, which is safe but prevents cache hits. A transport that wraps another
    /// transport must return the value of that transport.
    var provesClient: Bool { get }

    /// Whether bytes from a server can crash the process; false by default.
    ///
    /// If true, the linter warns. A transport that wraps another transport must return the value of
    /// that transport.
    var canEndProcess: Bool { get }

    /// Lines about the present state of the transport, such as its connections; none by default.
    var liveFigures: [LiveFigure] { get }

    /// Sends a request, and returns when the response head has arrived.
    /// - Throws: ``ClientError`` with a ``TransferState``, by which gates decide whether a second
    ///   send is safe. If the task is cancelled, the method throws `CancellationError` at once. If
    ///   the context is cancelled, the method throws the error of ``Context/cancelReason`` at once.
    func send(_ request: Request, context: Context) async throws -> Response

    /// Cancels the running exchanges, and returns when all connections are closed.
    ///
    /// Later sends fail with ``ClientError/Code/cancelled``. The client waits for running exchanges
    /// before the client calls this method (``Client/shutdown(grace:cancellingWith:)``).
    func shutdown() async
}

extension Transport {
    /// True by default, because connections may prove the identity of the client.
    public var provesClient: Bool { true }

    /// False by default, because no server can crash the process.
    public var canEndProcess: Bool { false }

    /// An empty list, by default.
    public var liveFigures: [LiveFigure] { [] }
}
