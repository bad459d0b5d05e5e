// SPDX-License-Identifier: Apache-2.0

/// Sends requests and receives their responses, one exchange at a time.
///
/// A transport follows no redirects, stores no cookies, caches nothing, answers no challenges and
/// repeats nothing: gates do that. The cancellation of the task that calls ``send(_:context:)``
/// matters only until the method returns. After that, the exchange ends early when a task that
/// reads the body is cancelled, when the body is released, or when the context is cancelled.
///
/// ``Exchange`` implements these rules: the transport passes on what it receives, and stops when
/// the exchange tells it to. A transport whose content is available at once, such as a file, needs
/// only a ``ResponseBodySource`` instead of an exchange.
public protocol Transport: Sendable {
    /// The capabilities of the transport.
    var capabilities: TransportCapabilities { get }

    /// Whether connections prove who the client is, as a client certificate does.
    ///
    /// A cache then takes no two clients for one (``Next/provesClient``). The default is true. So a
    /// transport that does not implement it loses cache hits, but never shows one client the
    /// responses of another. A transport that wraps another one has its value.
    var provesClient: Bool { get }

    /// Whether a server can end the process by the bytes that it sends.
    ///
    /// The linter warns of such a transport. The default is false; a transport that wraps another one
    /// has its value.
    var canEndProcess: Bool { get }

    /// Sends a request and returns when the head of its response has arrived.
    /// - Throws: ``ClientError`` with a ``TransferState``, from which gates decide whether sending
    ///   again is safe; `CancellationError` at once when the task is cancelled; the error of
    ///   ``Context/cancelReason`` at once when the context is cancelled.
    func send(_ request: Request, context: Context) async throws -> Response

    /// Cancels the running exchanges, closes the connections, and returns when they are closed.
    ///
    /// Later sends fail with ``ClientError/Code/cancelled``. The client waits for running exchanges
    /// before it calls this method (``Client/shutdown(grace:cancellingWith:)``).
    func shutdown() async
}

extension Transport {
    /// True: connections may prove who the client is.
    public var provesClient: Bool { true }

    /// False: the process stays, whatever a server sends.
    public var canEndProcess: Bool { false }
}
