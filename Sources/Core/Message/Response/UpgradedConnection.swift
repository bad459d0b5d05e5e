// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// A connection that has switched to another protocol (RFC 9110 §7.8): bytes in both directions.
///
/// A request asks for the connection with ``RequestOptions/upgrade``. If the status of the response
/// is 101, the response has the connection. It counts as a running call of its client. If the call
/// is cancelled, the client ends, or the connection is released, the connection is closed.
public final class UpgradedConnection: Sendable {
    private struct State {
        var isClosed = false
        // Ends what would close it.
        var onClose: (@Sendable () -> Void)?
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

    /// Returns the next bytes; nil if the peer has ended its side.
    ///
    /// Only one task at a time may read.
    public func read(upTo maxBytes: Int) async throws -> Data? {
        try await channel.read(upTo: maxBytes)
    }

    /// Writes bytes after the bytes of earlier calls.
    ///
    /// The method returns when few enough bytes wait to be sent. If the task is cancelled while it
    /// waits, the bytes are sent all the same.
    public func write(_ bytes: Data) async throws { try await channel.write(bytes) }

    /// Ends this side of the connection, if the transport can end one side alone.
    public func finishWriting() async throws { try await channel.finishWriting() }

    /// Closes the connection at once; if it is already closed, the method has no effect.
    public func close() {
        let (isFirst, handler) = state.withLock { state in
            defer { state.isClosed = true }
            return (!state.isClosed, state.onClose.take())
        }
        handler?()
        if isFirst { channel.close() }
    }

    /// Calls a handler when the connection is closed, or at once if it already is; one may wait.
    func whenClosed(_ handler: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.onClose = handler }
            return state.isClosed
        }
        if isClosed { handler() }
    }
}

/// The bytes of an ``UpgradedConnection``, as a transport provides them.
///
/// The methods have the same meaning as those of ``UpgradedConnection``.
public protocol UpgradedChannel: Sendable {
    /// Returns the next bytes; nil if the peer has ended its side.
    func read(upTo maxBytes: Int) async throws -> Data?
    /// Writes bytes; returns when few enough bytes wait to be sent.
    func write(_ bytes: Data) async throws
    /// Ends this side of the connection.
    func finishWriting() async throws
    /// Closes the connection; tasks that wait get an error or the end.
    func close()
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
