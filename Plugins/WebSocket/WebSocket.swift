// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
public import TurnpikeSerializers

/// A connection on which client and server send each other messages (RFC 6455).
///
/// ```swift
/// let socket = try await client.webSocket("wss://stream.example.com/prices", protocols: ["v2.prices"])
/// try await socket.send(.text(#"{"subscribe": "EURUSD"}"#))
/// for try await message in socket.messages { print(message) }
/// ```
///
/// One task reads, and any number of tasks send; their messages go out in the order in which they
/// were sent. A slow reader stops the server, and a slow server stops those who send. Pings of the
/// server are answered without a reader, until 64 KiB lie unread.
///
/// Releasing the socket closes its connection at once; ``close(_:reason:)`` says goodbye first.
public final class WebSocket: Sendable {
    /// The protocol that the server chose of those offered, or nil.
    public let protocolName: String?
    /// The head of the server's answer to the handshake.
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

    deinit { core.abandon() }

    /// A message.
    public enum Message: Sendable, Hashable {
        /// Text.
        case text(String)
        /// Bytes.
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
        /// Not at all.
        case none
        /// The server may compress what it sends.
        case receiving
        /// Both may compress what they send.
        ///
        /// Do not mix a secret and text of others in one socket then: the length of a message tells
        /// how much they have in common.
        case both
    }

    /// The limits of a socket, and what is offered to the server.
    public struct Options: Sendable, Hashable {
        /// Whether messages are compressed, if the server agrees.
        public var compression: Compression
        /// The largest message that is received, inflated; a larger one closes the socket with 1009.
        public var maxMessageBytes: Int
        /// The time between a pong and the next ping; nil for no pings.
        public var keepAlive: Duration?
        /// How long a pong may take.
        public var pongLimit: Duration
        /// How long the closing handshake may take.
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

    // MARK: Sending

    /// Sends a message, and returns when the connection has taken it.
    ///
    /// A task that is cancelled while other messages go first sends nothing. Later, the message is sent
    /// all the same.
    /// - Throws: ``TurnpikeCore/ClientError/Code/webSocketClosed`` if the socket is closed,
    ///   ``/TurnpikeCore/ClientError/Code/connection`` if the connection is lost, or
    ///   `CancellationError`.
    public func send(_ message: Message) async throws {
        switch message {
        case .text(let text): try await core.send(.text, Data(text.utf8))
        case .binary(let content): try await core.send(.binary, content)
        }
    }

    /// Sends a value as a text of JSON.
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

    /// Sends one message of any length, a fragment for each element.
    ///
    /// Other messages wait for its end. If the sequence fails, the socket is closed with 1011, because
    /// a message that was begun cannot be given up.
    public func send<Fragments: AsyncSequence>(
        binary fragments: Fragments
    ) async throws where Fragments.Element == Data {
        var iterator = fragments.makeAsyncIterator()
        try await core.send(.binary) { try await iterator.next(isolation: #isolation) }
    }

    /// Sends one message of text of any length, a fragment for each element.
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

    /// The messages from now on.
    ///
    /// The sequence ends when the server closes with 1000 or without a code, or when this side has
    /// closed. It throws one error if the server closes with another code, violates the protocol, or
    /// is lost. Cancelling a task that waits for a message leaves the socket open.
    public var messages: Messages { Messages(socket: self) }

    /// The messages, each as a value that the client's decoder for JSON makes of it.
    ///
    /// Its error is ``/TurnpikeCore/ClientError/Code/serialization``, with up to 1 KiB of the message,
    /// and ends the sequence, but not the socket.
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

    /// The parts of messages as they come, for messages too large for the memory.
    public var fragments: Fragments { Fragments(socket: self) }

    /// A part of a message.
    public struct Fragment: Sendable, Hashable {
        /// The bytes; a part of a text may end within a character.
        public let content: Data
        /// Whether the message is text.
        public let isText: Bool
        /// Whether the message ends with this part.
        public let isLast: Bool
    }

    // MARK: Closing

    /// How the server closed the socket; nil if it has not.
    public var closure: Closure? { core.closure }

    /// Says that nothing more comes, and waits until the server has said so too, at most for
    /// ``Options/closeLimit``.
    ///
    /// Messages that arrive until then are still delivered, unless 64 KiB lie unread. Closing a closed socket has no effect.
    /// - Parameters:
    ///   - code: Why.
    ///   - reason: The same for people; at most 123 bytes are sent.
    /// - Throws: `CancellationError` if the task is cancelled; the closing goes on.
    public func close(_ code: CloseCode = .normal, reason: String = "") async throws {
        guard code.mayBeSent else {
            throw ClientError(.invalidRequest, "\(code.rawValue) is no close code that is sent")
        }
        core.close(code, reason: reason)
        try await core.waitForEnd()
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
            guard var fragment = try await socket.core.inbox.next() else { return nil }
            var content = fragment.content
            while !fragment.isLast {
                guard let next = try await socket.core.inbox.next() else { return nil }
                fragment = next
                content += next.content
            }
            socket.core.connection.report(messageOf: content.count, isSent: false)
            // Its bytes were checked as they came.
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
    /// A socket was closed: by the server, or before a message was sent.
    public static let webSocketClosed = Self(rawValue: "webSocketClosed")
}
