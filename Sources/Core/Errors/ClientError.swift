public import Foundation

/// Why a call failed: a code to branch on, a message that says what to do, and what had happened.
///
/// ```swift
/// do {
///     user = try await client.get("users/1").decode(User.self)
/// } catch ClientError.Code.deadlineExceeded {
///     user = cached
/// }
/// ```
///
/// What a user's own gate throws passes unchanged, and a cancelled task gets `CancellationError`.
/// Nothing that this type prints holds a secret: its request and response are redacted.
public struct ClientError: Error, Sendable {
    private struct Details: Sendable {
        var code: Code
        var message: String
        var underlying: (any Error)?
        var request: RequestSummary?
        // As it was sent: its secrets are looked for in all that is printed.
        var sent: Request?
        var response: ResponseHead?
        var responseBody: Data
        var attempts = 0
        var transfer: TransferState?
        var retryAfter: Duration?
        var proxyStatus: HTTPStatus?
        var history: [AttemptSummary] = []
        var attachment: (any Sendable)?
    }

    // An error is one pointer wide.
    private final class Storage: Sendable {
        let details: Details

        init(_ details: Details) { self.details = details }
    }

    private var storage: Storage
    private var details: Details { storage.details }

    /// Creates an error.
    ///
    /// The client fills in the request as sent and the number of attempts.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: What happened and what to do; it must not hold a secret.
    ///   - underlying: The error that caused this one.
    ///   - response: The head of the response, where one had arrived.
    ///   - responseBody: The beginning of the response's content, at most 4 KiB by convention.
    ///   - transfer: How far the exchange had come, where a transport knows.
    ///   - retryAfter: How long to wait before it makes sense to try again.
    ///   - proxyStatus: The status with which a proxy refused to connect.
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil,
        response: ResponseHead? = nil, responseBody: Data = Data(),
        transfer: TransferState? = nil, retryAfter: Duration? = nil,
        proxyStatus: HTTPStatus? = nil
    ) {
        storage = Storage(
            Details(
                code: code, message: message, underlying: underlying, response: response,
                responseBody: responseBody, transfer: transfer, retryAfter: retryAfter,
                proxyStatus: proxyStatus))
    }

    /// What went wrong.
    public var code: Code { details.code }
    /// What happened and what to do.
    public var message: String { details.message }
    /// The error that caused this one, or nil.
    public var underlying: (any Error)? { details.underlying }
    /// The request as it was last sent, redacted; nil where none was made.
    public var request: RequestSummary? { details.request }
    /// The head of the response, where one had arrived.
    public var response: ResponseHead? { details.response }
    /// The beginning of the response's content, at most 4 KiB.
    ///
    /// It is never printed.
    public var responseBody: Data { details.responseBody }
    /// How often the transport was asked to send.
    public var attempts: Int { details.attempts }
    /// How far the exchange had come; nil where no transport was involved.
    public var transfer: TransferState? { details.transfer }
    /// How long to wait before it makes sense to try again: what the server asked for (RFC 9110
    /// §10.2.3), or what a breaker or a limit knows; nil where nobody said.
    public var retryAfter: Duration? { details.retryAfter }
    /// The status with which a proxy refused to connect to the server (`CONNECT`, RFC 9110 §9.3.6);
    /// nil where none did.
    ///
    /// ``response`` is nil then, for it is not the server's answer. What a SOCKS proxy says is told
    /// as the status that means the same.
    public var proxyStatus: HTTPStatus? { details.proxyStatus }
    /// What came of each attempt of a call that was tried again, the latest 32; else empty.
    public var history: [AttemptSummary] { details.history }

    /// The error with what the call knows filled in where it is missing.
    package func completed(
        sent: Request? = nil, response: ResponseHead? = nil, attempts: Int? = nil,
        retryAfter: Duration? = nil, history: [AttemptSummary] = []
    ) -> ClientError {
        changed { details in
            if details.request == nil, let sent {
                details.request = RequestSummary(sent)
                details.sent = sent.withoutLargeBody
            }
            details.response = details.response ?? response
            details.attempts = attempts ?? details.attempts
            details.retryAfter = details.retryAfter ?? retryAfter
            if details.history.isEmpty { details.history = history }
        }
    }

    /// The error with more words.
    func adding(toMessage text: String) -> ClientError { changed { $0.message += text } }

    /// The error that a retrier has put in the place of an outcome, with that outcome as its cause.
    func caused(by outcome: Outcome) -> ClientError {
        let cause = outcome.error as? ClientError
        let isItself = cause?.code == code && cause?.message == message
        return changed { details in
            if !isItself { details.underlying = details.underlying ?? outcome.error }
            details.response = details.response ?? outcome.head
            details.transfer = details.transfer ?? outcome.transfer
        }
    }

    /// The error of an exchange that followed another one, which a server had answered: that nothing
    /// of the last request left does not say so of the first.
    package var behindAnAnswer: ClientError {
        guard transfer?.isUnsent == true else { return self }
        return changed { $0.transfer = TransferState(.receiving) }
    }

    /// What the thrower gave along for who knows its type; never printed.
    package var attachment: (any Sendable)? { details.attachment }

    /// The error with something given along.
    package func attaching(_ attachment: any Sendable) -> ClientError {
        changed { $0.attachment = attachment }
    }

    private func changed(_ change: (inout Details) -> Void) -> ClientError {
        var details = details
        change(&details)
        var copy = self
        copy.storage = Storage(details)
        return copy
    }
}

extension Request {
    // An error may be kept for long.
    fileprivate var withoutLargeBody: Request {
        if body.isEmpty || (body.inMemory?.count ?? .max) <= 4096 { return self }
        var request = self
        request.body = .empty
        return request
    }
}

extension ClientError: CustomStringConvertible, CustomReflectable, LocalizedError {
    /// The code, the message, the request and the response in one line, without secrets.
    ///
    /// Those that the request and the response carry are hidden in the message and in the cause too.
    public var description: String {
        let pass = RedactionPass(.standard, .display, known: carriedSecrets)
        var text = "\(code): \(pass.redacted(message, as: .text))"
        if let request { text += " [\(request)]" }
        if let response { text += " [response \(response.status)]" }
        if !history.isEmpty {
            let outcomes = history.map(\.description).joined(separator: ", ")
            text += " [\(attempts) attempts: \(outcomes)]"
        } else if attempts > 1 {
            text += " [\(attempts) attempts]"
        }
        if let underlying { text += " [caused by \(Self.describe(underlying, pass))]" }
        return text
    }

    /// The message without secrets, for those who print it alone.
    package var shownMessage: String {
        RedactionPass(.standard, .display, known: carriedSecrets).redacted(message, as: .text)
    }

    /// The cause in words without secrets.
    package var shownCause: String? {
        underlying.map {
            Self.describe($0, RedactionPass(.standard, .display, known: carriedSecrets))
        }
    }

    private var carriedSecrets: SecretIndex {
        CarriedSecrets(
            of: [details.sent].compactMap(\.self), response?.headers, content: responseBody,
            by: .standard
        ).index
    }

    // Foundation's errors print all they know, URLs included, and those of decoding what they found:
    // their text is enough.
    private static func describe(_ error: any Error, _ pass: RedactionPass) -> String {
        let text =
            switch error {
            case let error as URLError:
                "URLError \(error.code.rawValue): \(error.localizedDescription)"
            case let error as DecodingError: "DecodingError: \(reason(error))"
            default: String(describing: error)
            }
        return Grammar.escaped(pass.redacted(text, as: .text))
    }

    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror {
        Mirror(self, children: ["code": code.description, "description": description])
    }
}
