// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// A connection that has switched to another protocol (RFC 9110 §7.8): bytes in both directions.
///
/// A request asks for the connection with ``RequestOptions/upgrade``. A response with the status
/// 101 has the connection. The connection counts as a running call of its client. The connection is
/// closed if the call is cancelled, if the client ends, or if the connection is released.
public final class UpgradedConnection: Sendable {
    private struct State {
        var isClosed = false
        // Ends the registrations that would close the connection.
        var onClose: (@Sendable () -> Void)?
        var onMessage: (@Sendable (_ bytes: Int, _ isSent: Bool) -> Void)?
    }

    /// The protocol that the server has switched to.
    public let protocolName: String
    private let channel: any UpgradedChannel
    private let state = Mutex(State())

    /// Creates a connection; only transports need it.
    public init(_ channel: any UpgradedChannel, protocolName: String) {
        self.channel = channel
        self.protocolName = protocolName
    }

    deinit { close() }

    /// An executor on the thread that waits for the connection, if the transport has one.
    ///
    /// Bytes that arrive wake no other thread for a task on this executor. A task that computes for
    /// long, or blocks, delays all connections of the thread.
    public var executor: (any TaskExecutor)? { channel.executor }

    /// Returns the next bytes to one task at a time; nil if the peer has ended its side.
    public func read(upTo maxBytes: Int) async throws -> Data? {
        try await channel.read(upTo: maxBytes)
    }

    /// Writes bytes after the bytes of earlier calls.
    ///
    /// The method returns when the number of unsent bytes is small enough. If the task is cancelled
    /// during this wait, the bytes are sent anyway.
    public func write(_ bytes: Data) async throws { try await channel.write(bytes) }

    /// Ends this side of the connection, if the transport can end a single side.
    public func finishWriting() async throws { try await channel.finishWriting() }

    /// Closes the connection at once; if it is already closed, the method has no effect.
    public func close() {
        let (isFirst, handler) = state.withLock { state in
            defer { (state.isClosed, state.onMessage) = (true, nil) }
            return (!state.isClosed, state.onClose.take())
        }
        handler?()
        if isFirst { channel.close() }
    }

    /// Reports to the readers of the call that a message, or a part of a message, was sent or read.
    public func report(messageOf bytes: Int, isSent: Bool) {
        state.withLock { $0.onMessage }?(bytes, isSent)
    }

    /// Sets handlers for messages and for the close; a connection that is closed calls at once.
    func follow(
        onMessage: (@Sendable (Int, Bool) -> Void)?, onClose: @escaping @Sendable () -> Void
    ) {
        let isClosed = state.withLock { state in
            if !state.isClosed { (state.onMessage, state.onClose) = (onMessage, onClose) }
            return state.isClosed
        }
        if isClosed { onClose() }
    }
}

/// The bytes of an ``UpgradedConnection``, as a transport provides them.
public protocol UpgradedChannel: Sendable {
    /// Returns the next bytes; nil if the peer has ended its side.
    func read(upTo maxBytes: Int) async throws -> Data?
    /// Writes bytes; returns when the number of unsent bytes is small enough.
    func write(_ bytes: Data) async throws
    /// Ends this side of the connection.
    func finishWriting() async throws
    /// Closes the connection; tasks that wait get an error or the end.
    func close()
    /// An executor on the thread that waits for the connection; nil by default.
    var executor: (any TaskExecutor)? { get }
}

extension UpgradedChannel {
    /// Nil: tasks run on the system's threads.
    public var executor: (any TaskExecutor)? { nil }
}

private enum UpgradeOption: OptionKey { typealias Value = String }

extension RequestOptions {
    /// The protocol to switch to, such as `websocket`; nil for none.
    ///
    /// The transport writes `Upgrade` and `Connection`. If the transport lacks
    /// ``TransportCapabilities/upgrades``, the call fails as ``ClientError/Code/unsupported``.
    public var upgrade: String? {
        get { self[UpgradeOption.self] }
        set { self[UpgradeOption.self] = newValue }
    }
}
