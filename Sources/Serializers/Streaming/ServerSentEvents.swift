import Foundation
public import TurnpikeCore

/// The events of a stream (WHATWG HTML §9.2), with reconnections.
///
/// ```swift
/// for try await event in client.get("feed").events() { show(event.data) }
/// ```
///
/// The stream is asked for when the first event is. When it ends or breaks, it is asked for again,
/// with `Last-Event-ID`, after the wait that the server named (3 s where it named none, never less
/// than 500 ms nor more than 5 min), doubled for each connection in a row that gave no event. A
/// status other than 200, or a content type other than `text/event-stream`, is an error at once;
/// 204 ends the stream, and so does a reader that asks for no further event.
///
/// Only a request with a safe method (RFC 9110 §9.2.1) is sent again: the answer to a POST may cost
/// something, or do something, each time. The end of such a stream is its end, and a broken one
/// throws. ``/TurnpikeCore/Call/retryable(_:)`` says otherwise for one call; with false it says that
/// a GET is not sent again either.
///
/// The client's deadline covers each connection up to its head, and its idle limit does not apply: a
/// stream may be silent for as long as it likes, unless
/// ``TurnpikeCore/Call/events(reconnects:lastEventID:idleLimit:)`` is given a limit.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent
    /// Any error.
    public typealias Failure = any Error

    let call: Call
    let reconnects: Int
    let lastEventID: String
    let idleLimit: Duration?

    /// Reads events.
    ///
    /// Dropping it ends the stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var reader: EventReader

        fileprivate init(_ events: ServerSentEvents) { reader = EventReader(events) }

        /// The next event, or nil at the end.
        public mutating func next() async throws -> ServerSentEvent? { try await reader.next() }

        /// The next event, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ServerSentEvent? { try await reader.next() }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Call {
    /// The server-sent events of the response, as they come.
    /// - Parameters:
    ///   - reconnects: How often in all the stream is asked for again, if its request may be sent
    ///     again (``ServerSentEvents``).
    ///   - lastEventID: The event behind which the stream is to begin.
    ///   - idleLimit: The longest silence of a connection before it counts as broken and the stream
    ///     is asked for again; nil sets none. Comments break a silence, so that it may be little
    ///     longer than the time between a server's signs of life. It counts while the reader waits.
    /// - Returns: A sequence of events.
    public func events(
        reconnects: Int = 5, lastEventID: String = "", idleLimit: Duration? = nil
    ) -> ServerSentEvents {
        ServerSentEvents(
            call: self, reconnects: reconnects, lastEventID: lastEventID, idleLimit: idleLimit)
    }
}

/// The state of a reader over its connections.
private struct EventReader {
    private let call: Call
    private let idleLimit: Duration?
    private var reconnectsLeft: Int
    private var lastEventID: String
    // Whether it was the stream that said it, and not the caller.
    private var isToldByStream = false
    private var wait: Duration = .seconds(3)
    private var fruitless = 0
    private var connection: Connection?
    private var hasEnded = false

    private struct Connection {
        var chunks: ResponseBody.AsyncIterator
        var splitter: LineSplitter
        var parser: ServerSentEventParser
        let complete: (any Error) -> any Error

        /// The next event, or nil at the end.
        mutating func next() async throws -> ServerSentEvent? {
            while true {
                if let event = try Self.event(&splitter, &parser) { return event }
                guard let chunk = try await chunks.next() else { return nil }
                splitter.append(chunk)
            }
        }

        private static func event(
            _ splitter: inout LineSplitter, _ parser: inout ServerSentEventParser
        ) throws -> ServerSentEvent? {
            while let taken = try unsafe splitter.next({ try unsafe parser.take($0) }) {
                if let taken { return taken }
            }
            return nil
        }
    }

    init(_ events: ServerSentEvents) {
        call = events.call
        idleLimit = events.idleLimit
        reconnectsLeft = Swift.max(events.reconnects, 0)
        let given = events.call.request.headers[.lastEventID] ?? ""
        lastEventID = events.lastEventID.isEmpty ? given : events.lastEventID
    }

    mutating func next() async throws -> ServerSentEvent? {
        while !hasEnded {
            do {
                if connection == nil { try await connect() }
                if let event = try await read() {
                    fruitless = 0
                    return event
                }
                if hasEnded { return nil }
                try await reconnect(after: nil)
            } catch {
                let error = connection?.complete(error) ?? error
                let isFinal = !Self.isPassing(error)
                if isFinal { hasEnded = true }
                leave()
                if isFinal { throw error }
                try await reconnect(after: error)
            }
        }
        return nil
    }

    private mutating func connect() async throws {
        var call = call.option(StreamingOption.self, true)
        call.request.headers.setIfAbsent(.accept, MediaType.eventStream.description)
        call.request.headers.setIfAbsent(.cacheControl, "no-store")
        // A stream may name an event as no field may hold it; the caller could not mend that.
        let isSendable = Grammar.firstIllegalValueByte(lastEventID) == nil
        if !lastEventID.isEmpty, isSendable || !isToldByStream {
            call.request.headers[.lastEventID] = lastEventID
        } else if isToldByStream {
            // An empty one takes back what was sent before (§9.2.6).
            call.request.headers[.lastEventID] = nil
        }
        let (response, maxBytes) = try await call.serialize(
            with: OpeningSerializer(check: Self.check))
        if response.status == 204 {
            hasEnded = true
            return
        }
        if let idleLimit {
            response.body.limitIdleTime(to: idleLimit, timeSource: call.timeSource)
        }
        connection = Connection(
            chunks: response.body.makeAsyncIterator(),
            splitter: LineSplitter(ending: .any, maxBytes: maxBytes),
            parser: ServerSentEventParser(lastEventID: lastEventID, maxBytes: maxBytes)
        ) { response.completing($0) }
    }

    private static func check(_ head: ResponseHead) throws {
        if head.status == 204 { return }
        guard head.status == 200 else {
            throw ClientError(
                .validation, "the event stream was answered with \(head.status)", response: head)
        }
        let type = head.headers[.contentType].flatMap { MediaType(parsing: $0) }
        guard type?.essence == MediaType.eventStream.essence else {
            throw ClientError(
                .serialization, "the response is no event stream (text/event-stream)",
                response: head)
        }
    }

    /// The next event of the connection, or nil at its end.
    private mutating func read() async throws -> ServerSentEvent? {
        if let event = try await connection?.next() { return event }
        leave()
        return nil
    }

    // What the stream said goes with the reader to the next connection.
    private mutating func leave() {
        guard let parser = connection?.parser else { return }
        lastEventID = parser.lastEventID
        isToldByStream = true
        wait = parser.retry ?? wait
        connection = nil
    }

    private mutating func reconnect(after error: (any Error)?) async throws {
        guard reconnectsLeft > 0, mayAskAgain(after: error) else {
            hasEnded = true
            if let error { throw error }
            return
        }
        reconnectsLeft -= 1
        let doubled =
            Swift.min(Swift.max(wait, .milliseconds(500)), .seconds(300))
            * (1 << Swift.min(fruitless, 6))
        fruitless += 1
        do {
            try await call.wait(for: Swift.min(doubled, .seconds(300)))
        } catch {
            hasEnded = true
            throw error
        }
    }

    // What was sent and is not safe may have been answered with something that is paid for.
    private func mayAskAgain(after error: (any Error)?) -> Bool {
        let request = call.request
        guard request.body.isReplayable else { return false }
        if let word = request.options[RetryableOption.self] { return word }
        return request.method.isSafe || (error as? ClientError)?.transfer?.isUnsent == true
    }

    // What may be gone after a while: the network, a connection that broke.
    private static func isPassing(_ error: any Error) -> Bool {
        (error as? ClientError)?.isPassing ?? false
    }
}
