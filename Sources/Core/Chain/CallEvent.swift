// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// An event of a call.
///
/// The descriptions of the request, the response and the error contain no secrets.
public struct CallEvent: Sendable {
    /// The kind of event.
    public enum Kind: Sendable {
        /// A request reached the logger.
        case began
        /// A request was passed to the transport.
        case sent
        /// The transport received the head of a response.
        case received
        /// A gate will make another attempt after a wait; the new attempt has the number `attempt`.
        case retrying(after: Duration, attempt: Int)
        /// A gate follows a redirect.
        case redirecting
        /// A gate reported a message about the gate's work.
        case note(gate: String, message: String)
        /// The gates inside the logger have returned a response, whose body may still be unread.
        case responded
        /// The gates inside the logger have thrown an error.
        case failed
        /// The body of the response ended.
        case bodyEnded(ResponseBodyEnd)
    }

    /// The kind of event.
    public let kind: Kind
    /// The identifier of the call.
    public let id: CallID
    /// The number of the attempt within the call, starting at 1.
    public let attempt: Int
    /// The time since the request reached the logger.
    ///
    /// For the outermost logger, this is the time since the call began. For a logger inside a retry
    /// gate, this is the time since the attempt began.
    public var elapsed: Duration { passBegan.duration(to: now) }

    /// The times of the past events of the call.
    public var timeline: Timeline { context.call.record.timeline }

    /// The current wall-clock time of the call.
    public var date: Date { context.timeSource.date }

    /// A number in 0..<1 from the random source of the call, equal for all events of the call.
    public var share: Double { context.random.share }

    /// The value of a key in the context of the call or attempt.
    ///
    /// A gate stores the value in the context (``Context/subscript(_:)``). A bridge to a logging or
    /// tracing system can read the value even after the call has returned and the body has ended.
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value { context[key] }

    var passBegan: MonotonicInstant
    private let context: Context
    private let now: MonotonicInstant
    private let requestValue: Request?
    private let sentRequest: Request?
    private let headValue: ResponseHead?
    private let errorValue: (any Error)?
    private let peeked: ResponseBodyPeek?

    init(
        _ kind: Kind, context: Context, since passBegan: MonotonicInstant, request: Request?,
        head: ResponseHead? = nil, error: (any Error)? = nil, peeked: ResponseBodyPeek? = nil
    ) {
        self.passBegan = passBegan
        self.peeked = peeked
        self.kind = kind
        id = context.id
        attempt = context.attempt
        self.context = context
        now = context.timeSource.now
        requestValue = request
        sentRequest = peeked == nil && error == nil ? nil : context.call.record.lastSent
        headValue = head
        errorValue = error
    }

    init?(_ step: CallStep, in context: Context, since passBegan: MonotonicInstant) {
        let kind: Kind
        var (request, head, error): (Request?, ResponseHead?, (any Error)?) = (nil, nil, nil)
        switch step {
        case .note(let gate, let message, _):
            kind = .note(gate: gate, message: Redaction.standard.text(message))
        case .sent(let sent): (kind, request) = (.sent, sent)
        case .received(let response, let sent):
            (kind, request, head) = (.received, sent, response.head)
        case .retrying(let delay, let attempt, let outcome):
            kind = .retrying(after: delay, attempt: attempt)
            (request, head, error) = (outcome.request, outcome.head, outcome.error)
        case .redirecting(let following, let redirect):
            (kind, request, head) = (.redirecting, following, redirect)
        case .entered, .left, .counted, .reported, .responded: return nil
        }
        self.init(
            kind, context: context, since: passBegan, request: request, head: head, error: error)
    }

    /// Scheme, host and port of the request (`url.scheme`, `server.address`, `server.port`).
    public var origin: Origin? { requestValue?.origin }

    /// The number of earlier requests of the call (`http.request.resend_count`), including retries,
    /// redirects and replays.
    public var resendCount: Int { max(context.call.record.sends - 1, 0) }

    /// The method of the request.
    public var method: HTTPMethod? { requestValue?.method }

    /// Returns the URL of the request without secrets; this costs less than the whole request.
    public func url(redaction: Redaction = .standard) -> String? {
        requestValue?.targetURI.redacted(redaction)
    }

    /// The request without secrets, by the standard rules.
    public var request: RequestSummary? { request(redaction: .standard) }

    /// Returns the request without the secrets that the rules define.
    public func request(redaction: Redaction) -> RequestSummary? {
        requestValue.map { RequestSummary($0, redaction: redaction) }
    }

    /// The status of the response.
    public var status: HTTPStatus? { headValue?.status }

    /// Returns the header fields of the response without secrets.
    public func responseHeaders(redaction: Redaction = .standard) -> HTTPHeaders? {
        headValue.map { head in
            let rules = redaction.hiding(secretsOf: requests, [head.headers])
            return HTTPHeaders(head.headers.map { ($0.name.rawValue, rules.value(of: $0)) })
        }
    }

    /// Returns the start of request content in memory, without secrets; nil for other content.
    public func requestContent(upTo maxBytes: Int, redaction: Redaction = .standard) -> String? {
        guard let request = requestValue, let data = request.body.inMemory, maxBytes > 0 else {
            return nil
        }
        // Encoded content cannot be searched for secrets.
        if request.headers.contains(.contentEncoding) { return "(\(data.count) bytes)" }
        let type = request.headers[.contentType].flatMap { MediaType(parsing: $0) }
        return carrying(redaction).content(
            data.prefix(maxBytes), type: type, isCut: data.count > maxBytes)
    }

    /// Returns the beginning of the response content that the caller has read, without secrets.
    ///
    /// The content is available after the end of the body. ``RequestLogger/peekBytes`` limits the
    /// size.
    public func responseContent(redaction: Redaction = .standard) -> String? {
        guard let peeked, !peeked.data.isEmpty else { return nil }
        let type = headValue?.headers[.contentType].flatMap { MediaType(parsing: $0) }
        var isCut = peeked.isCut
        if case .bodyEnded(let end) = kind, !end.isFinished { isCut = true }
        return carrying(redaction).content(peeked.data, type: type, isCut: isCut)
    }

    /// The description of the error without secrets, by the standard rules.
    public var errorDescription: String? { errorDescription(redaction: .standard) }

    /// Returns the description of the error without the secrets that the rules define.
    public func errorDescription(redaction: Redaction) -> String? {
        errorValue.map { carrying(redaction).text(String(describing: $0)) }
    }

    // A server or an error may repeat secrets of the request or of the response.
    private func carrying(_ redaction: Redaction) -> Redaction {
        redaction.hiding(secretsOf: [requestValue, sentRequest], [headValue?.headers])
    }

    private var requests: [Request] {
        [requestValue, context.call.record.lastSent].compactMap(\.self)
    }

    /// Returns a message of a gate (``Kind/note(gate:message:)``) without secrets of the call's
    /// requests and without control characters.
    public func shown(_ message: String, redaction: Redaction = .standard) -> String {
        redaction.hiding(secretsOf: requests, [headValue?.headers]).text(message)
    }

    /// The error as a label for metrics: the error code, the type's name, or `cancelled`.
    public var errorType: String? { errorValue.map(ClientError.label(of:)) }

    /// Whether the error is a cancellation (``ClientError/isCancellation(_:)``) and not a failure.
    public var isCancellation: Bool { errorValue.map(ClientError.isCancellation) ?? false }
}

extension CallEvent: DescriptionReflectable {
    /// The kind of event, the request, the status and the error in one line without secrets.
    public var description: String {
        var text = "\(id), attempt \(attempt): "
        text += shown(String(describing: kind), redaction: .standard)
        if let request { text += " [\(request)]" }
        if let status { text += " [response \(status)]" }
        if let errorDescription { text += " [\(errorDescription)]" }
        return text
    }
}

final class ResponseBodyPeek: Sendable {
    private struct State {
        var data = Data()
        var isCut = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var data: Data { state.withLock { $0.data } }

    var isCut: Bool { state.withLock { $0.isCut } }

    func add(_ chunk: Data) {
        state.withLock { state in
            let room = limit - state.data.count
            if chunk.count > room { state.isCut = true }
            if room > 0 { state.data.append(chunk.prefix(room)) }
        }
    }
}

/// The loggers that receive the events of a context, innermost first.
final class ObserverList: Sendable {
    let logger: any RequestLogger
    let began: MonotonicInstant
    let rest: ObserverList?

    init(logger: any RequestLogger, began: MonotonicInstant, rest: ObserverList?) {
        self.logger = logger
        self.began = began
        self.rest = rest
    }
}
