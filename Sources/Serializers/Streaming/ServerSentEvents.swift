// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

struct ServerSentEvents: AsyncSequence, Sendable {
    let call: Call
    let reconnects: Int
    let lastEventID: String
    let idleLimit: Duration?

    struct AsyncIterator: AsyncIteratorProtocol {
        private var reader: EventReader

        fileprivate init(_ events: ServerSentEvents) { reader = EventReader(events) }

        mutating func next() async throws -> ServerSentEvent? { try await reader.next() }

        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ServerSentEvent? { try await reader.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Call {
    /// Returns the server-sent events of the response (WHATWG HTML §9.2), with reconnection.
    ///
    /// ```swift
    /// for try await event in client.get("feed").events() { show(event.data) }
    /// ```
    ///
    /// The request is sent when the iterator reads the first event. When the stream ends or breaks
    /// off, the request is sent again with `Last-Event-ID`. The request waits for the reconnection
    /// time of the server, or 3 s if the server set no time. The wait is at least 500 ms and at
    /// most 5 min, and doubles for each successive connection without an event. If the status is
    /// not 200, or the content type is not `text/event-stream`, the iterator throws an error
    /// immediately. Status 204 or the release of the iterator ends the stream.
    ///
    /// Only a request with a safe method (RFC 9110 §9.2.1) is sent again, because each repetition
    /// of a POST may cost money or have an effect. Without reconnection, the end of the stream ends
    /// the sequence, and a stream that breaks off throws an error.
    /// ``/TurnpikeCore/Call/retryable(_:)`` overrides this rule for one call. With true, a POST is
    /// sent again. With false, not even a GET is sent again.
    ///
    /// The client's deadline applies to each connection up to the response head. The client's idle
    /// limit does not apply, because a stream may be silent for any time. The parameter `idleLimit`
    /// sets a limit.
    /// - Parameters:
    ///   - reconnects: The maximum number of further requests for the stream, if the request may be
    ///     repeated.
    ///   - lastEventID: The ID of the event after which the stream should start.
    ///   - idleLimit: The longest silence before a connection counts as broken and the request is
    ///     sent again; nil sets no limit. Comments end a silence: a limit that is little longer
    ///     than the server's keep-alive interval is possible. The time counts only while the caller
    ///     waits for an event.
    /// - Returns: A sequence of events.
    public func events(
        reconnects: Int = 5, lastEventID: String = "", idleLimit: Duration? = nil
    ) -> some AsyncSequence<ServerSentEvent, any Error> & Sendable {
        ServerSentEvents(
            call: self, reconnects: reconnects, lastEventID: lastEventID, idleLimit: idleLimit)
    }
}

private struct EventReader {
    private let call: Call
    private let idleLimit: Duration?
    private var reconnectsLeft: Int
    private var lastEventID: String
    // Whether the last event ID comes from the stream, and not from the caller.
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
                let isFinal = (error as? ClientError)?.isPassing != true
                if isFinal { hasEnded = true }
                leave()
                if isFinal { throw error }
                try await reconnect(after: error)
            }
        }
        return nil
    }

    private mutating func connect() async throws {
        var call = call
        call.request.options.isStreaming = true
        call.request.headers.setIfAbsent(.accept, MediaType.eventStream.description)
        call.request.headers.setIfAbsent(.cacheControl, "no-store")
        // An invalid ID from the stream is not sent, because the caller could not correct the ID.
        let isSendable = Grammar.firstIllegalValueByte(lastEventID) == nil
        if !lastEventID.isEmpty, isSendable || !isToldByStream {
            call.request.headers[.lastEventID] = lastEventID
        } else if isToldByStream {
            // An empty ID removes an ID that was sent before (§9.2.6).
            call.request.headers[.lastEventID] = nil
        }
        let (response, maxBytes) = try await call.serialize(
            with: HeadSerializer(check: Self.check))
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
                .validation, "the server answered with \(head.status), not an event stream",
                response: head)
        }
        let type = head.headers[.contentType].flatMap { MediaType(parsing: $0) }
        guard type?.essence == MediaType.eventStream.essence else {
            throw ClientError(
                .serialization, "the response is not an event stream (text/event-stream)",
                response: head)
        }
    }

    private mutating func read() async throws -> ServerSentEvent? {
        if let event = try await connection?.next() { return event }
        leave()
        return nil
    }

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

    // If an unsafe request is sent again, the effect of the request may happen twice.
    private func mayAskAgain(after error: (any Error)?) -> Bool {
        let request = call.request
        guard request.body.isReplayable else { return false }
        if let word = request.options[RetryableOption.self] { return word }
        return request.method.isSafe || (error as? ClientError)?.transfer?.isUnsent == true
    }
}
