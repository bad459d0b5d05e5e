public import Foundation
import Synchronization

/// Something that happened in a call.
///
/// What it says of request, response and error holds no secret.
public struct CallEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// A request entered the logger's pass.
        case began
        /// A request was handed to the transport.
        case sent
        /// The head of a response came from the transport.
        case received
        /// An attempt will be made again after a wait.
        case retrying(after: Duration, attempt: Int)
        /// A redirect is followed.
        case redirecting
        /// A gate has something to say.
        case note(gate: String, message: String)
        /// The pass gave a response; its body is still to be read.
        case responded
        /// The pass failed.
        case failed
        /// The response's body ended.
        case bodyEnded(BodyEnd)
    }

    /// What happened.
    public let kind: Kind
    /// The call's identifier.
    public let id: CallID
    /// The attempt's number within its call, from 1.
    public let attempt: Int
    /// The time since the request entered the logger's pass: since the call began for a logger that
    /// stands outermost, since the attempt began for one inside a retry.
    public var elapsed: Duration { passBegan.duration(to: now) }

    /// When the things of the call happened, up to now.
    public var timeline: Timeline { record.timeline }

    /// The present on the wall clock of the call.
    public var date: Date { timeSource.date }

    /// A number in 0..<1 that all events of a call share, from the call's chance: what a logger
    /// samples by.
    public var share: Double { random.share }

    // When the logger's pass began that hears of the event.
    fileprivate var passBegan: MonotonicInstant
    private let now: MonotonicInstant
    private let record: CallRecord
    private let timeSource: any TimeSource
    private let random: CallRandom
    private let requestValue: Request?
    private let sentRequest: Request?
    private let headValue: ResponseHead?
    private let errorValue: (any Error)?
    private let peeked: BodyPeek?

    init(
        _ kind: Kind, context: Context, since passBegan: MonotonicInstant, request: Request?,
        head: ResponseHead? = nil, error: (any Error)? = nil, peeked: BodyPeek? = nil
    ) {
        self.passBegan = passBegan
        self.peeked = peeked
        self.kind = kind
        id = context.id
        attempt = context.attempt
        record = context.call.record
        timeSource = context.timeSource
        random = context.random
        now = timeSource.now
        requestValue = request
        sentRequest = peeked == nil && error == nil ? nil : context.call.record.lastSent
        headValue = head
        errorValue = error
    }

    /// The request, redacted.
    public var request: RequestSummary? { request(redaction: .standard) }

    /// The request, redacted by stricter rules.
    public func request(redaction: Redaction) -> RequestSummary? {
        requestValue.map { RequestSummary($0, redaction: redaction) }
    }

    /// The status of the response.
    public var status: HTTPStatus? { headValue?.status }

    /// The header fields of the response, with secrets redacted.
    public func responseHeaders(redaction: Redaction = .standard) -> HTTPHeaders? {
        headValue.map { head in
            HTTPHeaders(head.headers.map { ($0.name.rawValue, redaction.value(of: $0)) })
        }
    }

    /// The beginning of the request's content, redacted, where it is in memory.
    public func requestContent(upTo maxBytes: Int, redaction: Redaction = .standard) -> String? {
        guard let request = requestValue, let data = request.body.inMemory, maxBytes > 0 else {
            return nil
        }
        // Nobody can look for secrets in what is coded.
        if request.headers.contains(.contentEncoding) { return "(\(data.count) bytes)" }
        let type = request.headers[.contentType].flatMap { MediaType(parsing: $0) }
        return redaction.content(
            data.prefix(maxBytes), type: type, isCut: data.count > maxBytes,
            known: secrets(redaction))
    }

    /// The beginning of the response's content, redacted, once the body has ended and as far as it
    /// was read (``RequestLogger/peekBytes``).
    public func responseContent(redaction: Redaction = .standard) -> String? {
        guard let peeked, !peeked.data.isEmpty else { return nil }
        let type = headValue?.headers[.contentType].flatMap { MediaType(parsing: $0) }
        var isCut = peeked.isCut
        if case .bodyEnded(let end) = kind, !end.isFinished { isCut = true }
        return redaction.content(
            peeked.data, type: type, isCut: isCut, known: secrets(redaction))
    }

    /// The error in words, redacted.
    public var errorDescription: String? { errorDescription(redaction: .standard) }

    /// The error in words, redacted by stricter rules.
    public func errorDescription(redaction: Redaction) -> String? {
        guard let errorValue else { return nil }
        let pass = RedactionPass(redaction, .display, known: secrets(redaction))
        return Grammar.escaped(pass.redacted(String(describing: errorValue), as: .text))
    }

    // A server, or an error, may repeat what was sent, and what was answered.
    private func secrets(_ redaction: Redaction) -> SecretIndex {
        CarriedSecrets(
            of: [requestValue, sentRequest].compactMap(\.self), headValue?.headers, by: redaction
        ).index
    }

    /// What a gate has to say, redacted by stricter rules.
    package func shown(_ message: String, redaction: Redaction) -> String {
        let requests = [requestValue, record.lastSent].compactMap(\.self)
        let known = CarriedSecrets(of: requests, headValue?.headers, by: redaction).index
        let pass = RedactionPass(redaction, .display, known: known)
        return Grammar.escaped(pass.redacted(message, as: .text))
    }

    /// The error as a word for a label: a code, a type's name, `cancelled`.
    public var errorType: String? { errorValue.map(ClientError.label(of:)) }

    /// Whether the error is a cancellation, which is no failure.
    public var isCancellation: Bool { errorValue is CancellationError }
}

extension CallEvent: CustomStringConvertible, CustomReflectable {
    /// What happened, and the request, the status and the error with it, in one line without secrets.
    public var description: String {
        var text = "\(id), attempt \(attempt): "
        text += shown(String(describing: kind), redaction: .standard)
        if let request { text += " [\(request)]" }
        if let status { text += " [response \(status)]" }
        if let errorDescription { text += " [\(errorDescription)]" }
        return text
    }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The first bytes of a body, kept as its reader pulls them.
final class BodyPeek: Sendable {
    private struct State {
        var data = Data()
        var isCut = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var data: Data { state.withLock { $0.data } }

    /// Whether there was more than is kept.
    var isCut: Bool { state.withLock { $0.isCut } }

    func add(_ chunk: Data) {
        state.withLock { state in
            let room = limit - state.data.count
            if chunk.count > room { state.isCut = true }
            if room > 0 { state.data.append(chunk.prefix(room)) }
        }
    }
}

/// The loggers that hear of a context's events, innermost first.
package final class ObserverList: Sendable {
    let logger: any RequestLogger
    /// When its pass began.
    let began: MonotonicInstant
    let rest: ObserverList?

    init(logger: any RequestLogger, began: MonotonicInstant, rest: ObserverList?) {
        self.logger = logger
        self.began = began
        self.rest = rest
    }
}

extension Context {
    /// Tells the loggers around a gate what it does, for instance why it sends nothing.
    /// - Parameters:
    ///   - gate: The gate's name.
    ///   - message: What it does; it must not hold a secret. It is not evaluated without a logger.
    public func note(gate: String, _ message: @autoclosure () -> String) {
        guard observers != nil else { return }
        emit(.note(gate: gate, message: Redaction.standard.text(message())), request: nil)
    }

    package func emit(
        _ kind: CallEvent.Kind, request: Request?, head: ResponseHead? = nil,
        error: (any Error)? = nil
    ) {
        guard var observer = observers else { return }
        var event = CallEvent(
            kind, context: self, since: observer.began, request: request, head: head, error: error)
        while true {
            observer.logger.log(event)
            guard let outer = observer.rest else { return }
            observer = outer
            event.passBegan = observer.began
        }
    }
}

extension ClientError {
    /// The word for an error in a log or a label: its code, or its type's name.
    package static func label(of error: any Error) -> String {
        switch error {
        case let error as ClientError: error.code.rawValue
        case is CancellationError: "cancelled"
        default: String(describing: type(of: error))
        }
    }
}
