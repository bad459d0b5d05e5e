// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSerializers
public import TurnpikeSupport

/// A connection for messages between client and server (RFC 6455).
///
/// ```swift
/// let socket = try await client.webSocket("wss://stream.example.com/prices", protocols: ["v2.prices"])
/// try await socket.send(.text(#"{"subscribe": "EURUSD"}"#))
/// for try await message in socket.messages { print(message) }
/// ```
///
/// One task may receive, and any number of tasks may send. Messages are sent in the order of the
/// calls. A slow receiver makes the server wait, and a slow server makes senders wait. The socket
/// answers pings of the server even if no task receives, until 64 KiB are unread.
///
/// If the socket is released, the connection is closed immediately. ``close(_:reason:)`` performs
/// the closing handshake.
public final class WebSocket: Sendable {
    /// The protocol that the server chose, or nil.
    public let protocolName: String?
    /// The head of the server's response to the handshake.
    public let head: ResponseHead
    let core: SocketCore
    private let serializers: SerializerTable

    init(
        _ connection: UpgradedConnection, _ agreement: Handshake.Agreement, head: ResponseHead,
        options: Options, timeSource: any TimeSource, serializers: SerializerTable
    ) {
        protocolName = agreement.protocolName
        self.head = head
        self.serializers = serializers
        core = SocketCore(
            connection, deflate: agreement.deflate, options: options, timeSource: timeSource)
        core.start()
    }

    deinit { core.handle(.abandoned) }

    /// A message.
    public enum Message: Sendable, Hashable {
        /// A message of text.
        case text(String)
        /// A message of bytes.
        case binary(Data)

        /// The bytes of the message.
        public var content: Data {
            switch self {
            case .text(let text): Data(text.utf8)
            case .binary(let content): content
            }
        }
    }

    /// Whether messages are compressed (RFC 7692).
    public enum Compression: Sendable, Hashable {
        /// Messages are not compressed.
        case none
        /// The server may compress its messages.
        case receiving
        /// Client and server may compress their messages.
        ///
        /// In this mode, do not send secrets and untrusted data over one socket. The length of a
        /// compressed message reveals the similarity of both.
        case both
    }

    /// The limits of a socket, and the use of compression and pings.
    public struct Options: Sendable, Hashable {
        /// Whether messages are compressed if the server agrees.
        public var compression: Compression
        /// The maximum number of bytes of a message after decompression.
        ///
        /// A larger message closes the socket with 1009.
        public var maxMessageBytes: Int
        /// The time between a pong and the next ping.
        ///
        /// If nil, no pings are sent.
        public var keepAlive: Duration?
        /// The time limit for a pong.
        ///
        /// If other bytes arrive within the limit, the limit starts again.
        public var pongLimit: Duration
        /// The time limit for the closing handshake.
        public var closeLimit: Duration

        /// Creates options.
        public init(
            compression: Compression = .receiving, maxMessageBytes: Int = 16_777_216,
            keepAlive: Duration? = nil, pongLimit: Duration = .seconds(10),
            closeLimit: Duration = .seconds(5)
        ) {
            self.compression = compression
            self.maxMessageBytes = max(maxMessageBytes, 0)
            self.keepAlive = keepAlive
            self.pongLimit = pongLimit
            self.closeLimit = closeLimit
        }
    }

    /// An executor on the thread that waits for the sockets, or nil if the transport has none.
    ///
    /// An arriving message wakes no other thread for a task on this executor. The executor is
    /// suitable for tasks with little work (`withTaskExecutorPreference`). A task that computes for
    /// a long time or blocks delays all sockets of the client.
    public var executor: (any TaskExecutor)? { core.connection.executor }

    // MARK: Sending

    /// Sends a message, and returns when the connection has accepted all bytes.
    ///
    /// If the task is cancelled while other messages are sent, this message is not sent. A later
    /// cancellation does not stop the message.
    /// - Throws: ``TurnpikeCore/ClientError/Code/webSocketClosed`` if the socket is closed,
    ///   ``/TurnpikeCore/ClientError/Code/connection`` if the connection is lost, or
    ///   `CancellationError`.
    public func send(_ message: Message) async throws {
        switch message {
        case .text(let text): try await core.send(.text, Data(text.utf8))
        case .binary(let content): try await core.send(.binary, content)
        }
    }

    /// Sends a value as a text message with JSON.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded, or an
    ///   error of ``send(_:)``.
    public func send(
        json value: some Encodable, encoder: JSONEncoder = .turnpike
    ) async throws {
        let content: Data
        do {
            content = try encoder.encode(value)
        } catch {
            throw ClientError(
                .serialization, "the value cannot be encoded as JSON: \(error)", underlying: error)
        }
        try await core.send(.text, content)
    }

    /// Sends one binary message of any length, with one fragment for each element.
    ///
    /// Other messages wait until this message has ended. If the sequence throws, the socket is
    /// closed with 1011, because a message with a sent fragment must be completed.
    public func send<Fragments: AsyncSequence>(
        binary fragments: Fragments
    ) async throws where Fragments.Element == Data {
        var iterator = fragments.makeAsyncIterator()
        try await core.send(.binary) { try await iterator.next(isolation: #isolation) }
    }

    /// Sends one text message of any length, with one fragment for each element.
    ///
    /// See ``send(binary:)``.
    public func send<Fragments: AsyncSequence>(
        text fragments: Fragments
    ) async throws where Fragments.Element == String {
        var iterator = fragments.makeAsyncIterator()
        try await core.send(.text) {
            try await iterator.next(isolation: #isolation).map { Data($0.utf8) }
        }
    }

    // MARK: Receiving

    /// The messages that arrive after this call.
    ///
    /// The sequence ends if the server closes the socket with 1000 or without a code, or if the
    /// client has closed the socket. If the server closes with another code or violates the
    /// protocol, or if the connection is lost, the sequence throws one error. If a waiting task is
    /// cancelled, the socket stays open.
    public var messages: Messages { Messages(socket: self) }

    /// The messages, decoded with the client's JSON decoder.
    ///
    /// If a message cannot be decoded, the sequence ends, but the socket stays open. The error is
    /// ``/TurnpikeCore/ClientError/Code/serialization`` and contains up to 1 KiB of the message.
    public func messages<Value: Decodable & Sendable>(
        of type: Value.Type
    ) -> AsyncThrowingMapSequence<Messages, Value> {
        let decoder = serializers.decoder(for: .json) ?? serializers.firstDecoder
        return messages.map { [head] message in
            guard let decoder else {
                throw ClientError(.serialization, "the client has no decoder; register one")
            }
            do {
                return try decoder.decode(type, from: message.content)
            } catch {
                throw ClientError.serialization(error, of: head, content: message.content)
            }
        }
    }

    /// The arriving parts of messages, for messages that are too large for memory.
    public var fragments: Fragments { Fragments(socket: self) }

    /// A part of a message.
    public struct Fragment: Sendable, Hashable {
        /// The bytes of the part.
        ///
        /// A part of a text may end within a character.
        public let content: Data
        /// Whether the message is text.
        public let isText: Bool
        /// Whether the message ends with this part.
        public let isLast: Bool
    }

    // MARK: Closing

    /// The close frame of the server, or nil if the server has not closed the socket.
    public var closure: Closure? { core.closure }

    /// Sends a close frame, and waits for the server's close frame for at most
    /// ``Options/closeLimit``.
    ///
    /// During the handshake, messages are delivered as usual, except content beyond 64 KiB of
    /// unread bytes. If the socket is already closed, the method has no effect.
    /// - Parameters:
    ///   - code: The reason as a number.
    ///   - reason: The reason as text, of which at most 123 bytes are sent.
    /// - Throws: `CancellationError` if the task is cancelled. The handshake continues.
    public func close(_ code: CloseCode = .normal, reason: String = "") async throws {
        guard code.mayBeSent else {
            throw ClientError(.invalidRequest, "a frame cannot have close code \(code.rawValue)")
        }
        core.close(code, reason: reason)
        try await core.end.value()
    }
}

extension WebSocket {
    /// The messages of a socket; see ``WebSocket/messages``.
    public struct Messages: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let socket: WebSocket

        /// Returns the iterator.
        public func makeAsyncIterator() -> Messages { self }

        /// Returns the next message.
        public mutating func next() async throws -> Message? {
            guard let fragment = try await socket.core.inbox.nextMessage() else { return nil }
            let content = fragment.content
            socket.core.connection.report(messageOf: content.count, isSent: false)
            // The UTF-8 of arriving bytes was already checked.
            return fragment.isText
                ? .text(String(decoding: content, as: UTF8.self)) : .binary(content)
        }
    }

    /// The parts of the messages of a socket; see ``WebSocket/fragments``.
    public struct Fragments: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let socket: WebSocket

        /// Returns the iterator.
        public func makeAsyncIterator() -> Fragments { self }

        /// Returns the next part.
        public mutating func next() async throws -> Fragment? {
            let fragment = try await socket.core.inbox.next()
            if let count = fragment?.content.count {
                socket.core.connection.report(messageOf: count, isSent: false)
            }
            return fragment
        }
    }
}

extension ClientError.Code {
    /// The server closed the socket, or the socket was closed before a message was sent.
    public static let webSocketClosed = Self(rawValue: "webSocketClosed")
}
