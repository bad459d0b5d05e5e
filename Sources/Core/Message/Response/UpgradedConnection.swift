// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// A connection that has switched to another protocol (RFC 9110 §7.8) and sends bytes both ways.
///
/// A request asks for the connection with ``RequestOptions/upgrade``. A response with the status
/// 101 contains the connection. The connection counts as a running call of the client. The end of
/// the call, the end of the client, or the release of the connection closes the connection.
public final class UpgradedConnection: Sendable {
    private struct State {
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        var onMessage: (@Sendable (_ bytes: Int, _ isSent: Bool) -> Void)?
    }

    /// The protocol to which the connection has switched.
    public let protocolName: String
    private let channel: any UpgradedChannel
    private let state = Mutex(State())

    /// Creates a connection, which only a transport should do.
    public init(_ channel: any UpgradedChannel, protocolName: String) {
        self.channel = channel
        self.protocolName = protocolName
    }

    deinit { close() }

    /// An executor on the thread that waits for the connection, or nil if the transport has none.
    ///
    /// For a task on this executor, arriving bytes wake no other thread. A task that computes for
    /// long, or blocks, delays all connections of the thread.
    public var executor: (any TaskExecutor)? { channel.executor }

    /// Returns the next bytes to one task at a time, or nil if the peer has ended its direction.
    public func read(upTo maxBytes: Int) async throws -> Data? {
        try await channel.read(upTo: maxBytes)
    }

    /// Writes bytes after the bytes of earlier calls.
    ///
    /// The method returns when the number of unsent bytes is small enough. If the task is cancelled
    /// during this wait, the bytes are sent anyway.
    public func write(_ bytes: Data) async throws { try await channel.write(bytes) }

    /// Ends the writing direction, if the transport can end a single direction.
    public func finishWriting() async throws { try await channel.finishWriting() }

    /// Closes the connection at once; a second call has no effect.
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

    /// Sets handlers for messages and for the close; if already closed, `onClose` runs at once.
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

/// The bytes of an ``UpgradedConnection``, which a transport implements.
public protocol UpgradedChannel: Sendable {
    /// Returns the next bytes, or nil if the peer has ended its direction.
    func read(upTo maxBytes: Int) async throws -> Data?
    /// Writes bytes, and returns when the number of unsent bytes is small enough.
    func write(_ bytes: Data) async throws
    /// Ends the writing direction of the connection.
    func finishWriting() async throws
    /// Closes the connection; waiting tasks get an error or the end.
    func close()
    /// An executor on the thread that waits for the connection; nil by default.
    var executor: (any TaskExecutor)? { get }
}

extension UpgradedChannel {
    /// Nil by default: tasks run on the threads of the system.
    public var executor: (any TaskExecutor)? { nil }
}

private enum UpgradeOption: OptionKey { typealias Value = String }

extension RequestOptions {
    /// The protocol to switch to, such as `websocket`, or nil.
    ///
    /// The transport sends the fields `Upgrade` and `Connection`. If the transport does not have
    /// ``TransportCapabilities/upgrades``, the call fails with ``ClientError/Code/unsupported``.
    public var upgrade: String? {
        get { self[UpgradeOption.self] }
        set { self[UpgradeOption.self] = newValue }
    }
}
