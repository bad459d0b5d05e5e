// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// The messages of a socket that reconnects after a lost connection.
///
/// ```swift
/// let prices = client.get("wss://stream.example.com/prices").reconnectingWebSocket { socket in
///     try await socket.send(.text(#"{"subscribe": "EURUSD"}"#))
/// }
/// for try await event in prices {
///     if case .message(let message) = event { print(message) }
/// }
/// ```
///
/// The rules of a retry gate decide when the sequence reconnects. By default, the sequence
/// reconnects after a lost connection and after a temporary refusal (status 503, and the close
/// codes 1001, 1011, 1012, 1013 and 1014). The client misses messages that the server sends between
/// two connections. ``Event/reconnected(_:after:)`` reports the gap. Messages of the client are not
/// sent again, but `subscribe` runs on each new socket. The sequence ends when the server closes
/// the socket with 1000 or without a code.
public struct ReconnectingWebSocket: AsyncSequence, Sendable {
    /// An event of the sequence.
    public enum Event: Sendable {
        /// The first socket is open.
        case connected(WebSocket)
        /// Another socket is open. `after` is the time since the previous socket was lost.
        case reconnected(WebSocket, after: Duration)
        /// A message has arrived.
        case message(WebSocket.Message)
    }

    fileprivate let call: Call
    fileprivate let protocols: [String]
    fileprivate let options: WebSocket.Options
    fileprivate let retry: any RequestRetrier
    fileprivate let subscribe: @Sendable (WebSocket) async throws -> Void

    /// Returns the iterator.
    ///
    /// The client sends the request when the first event is read.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Connects, returns messages, and reconnects.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: ReconnectingWebSocket
        private var open: (socket: WebSocket, since: MonotonicInstant)?
        private var lostAt: MonotonicInstant?
        private var failures = 0
        private var previousDelay: Duration?
        private var hasEnded = false

        // A socket that stays open for this time counts as a success, even without any message.
        private static let settled = Duration.seconds(60)

        fileprivate init(_ source: ReconnectingWebSocket) { self.source = source }

        /// Returns the next event.
        public mutating func next() async throws -> Event? {
            while !hasEnded {
                do {
                    guard let socket = open?.socket else { return try await connect() }
                    var messages = socket.messages
                    if let message = try await messages.next() {
                        failures = 0
                        return .message(message)
                    }
                    hasEnded = true
                } catch {
                    try await wait(after: error)
                }
            }
            return nil
        }

        private mutating func connect() async throws -> Event {
            let socket = try await source.call.webSocket(
                protocols: source.protocols, options: source.options)
            let subscribe = source.subscribe
            do {
                try await withThrowingTaskGroup { group in
                    group.addTask { try await subscribe(socket) }
                    group.addTask {
                        try await socket.core.end.value()
                        throw socket.core.closedError
                    }
                    try await group.next()
                    group.cancelAll()
                }
            } catch ClientError.Code.webSocketClosed {
                // The reader gets the earlier messages, and the reason after these messages.
            }
            let now = source.call.timeSource.now
            open = (socket, now)
            guard let lostAt else { return .connected(socket) }
            self.lostAt = nil
            return .reconnected(socket, after: lostAt.duration(to: now))
        }

        private mutating func wait(after error: any Error) async throws {
            if error is CancellationError { throw error }
            if let (socket, openedAt) = open.take() {
                // The reader may notice the loss late.
                let lost = socket.core.state.withLock { $0.endedAt } ?? source.call.timeSource.now
                if openedAt.duration(to: lost) > Self.settled { failures = 0 }
                lostAt = lost
            }
            failures += 1
            let outcome = Outcome(
                request: source.call.request, result: .failure(error), attempts: failures,
                previousDelay: failures > 1 ? previousDelay : nil)
            let context = Context(timeSource: source.call.timeSource)
            hasEnded = true
            switch await source.retry.retry(outcome, context: context) {
            case .retry(let delay):
                (hasEnded, previousDelay) = (false, delay)
                try await source.call.wait(for: delay)
            case .stop: throw error
            case .fail(let other): throw other
            }
        }
    }
}

extension Call {
    /// Describes a socket that reconnects after a lost connection.
    /// - Parameters:
    ///   - protocols: The protocols to offer to the server, the preferred one first.
    ///   - options: The limits of each socket.
    ///   - retry: Decides whether and when to reconnect. Each message restarts the count of
    ///     attempts.
    ///   - subscribe: Runs on each new socket before messages are read, for example to send a
    ///     subscription. The end of the socket cancels the closure. If the closure throws an error,
    ///     the socket is closed, and `retry` decides by the error.
    /// - Returns: The events. The client sends the request when the first event is read.
    public func reconnectingWebSocket(
        protocols: [String] = [], options: WebSocket.Options = WebSocket.Options(),
        retry: any RequestRetrier = Retry(
            attempts: 10, backoff: Backoff(base: .milliseconds(500), max: .seconds(30))),
        subscribe: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
    ) -> ReconnectingWebSocket {
        ReconnectingWebSocket(
            call: self, protocols: protocols, options: options, retry: retry, subscribe: subscribe)
    }
}
