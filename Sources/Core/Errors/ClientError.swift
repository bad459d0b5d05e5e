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
    private final class Storage: Sendable {
        let code: Code
        let message: String
        let underlying: (any Error)?
        let request: RequestSummary?
        let response: ResponseHead?
        let responseBody: Data
        let attempts: Int
        let transfer: TransferState?
        let retryAfter: Duration?
        let history: [AttemptSummary]
        let attachment: (any Sendable)?

        init(
            code: Code, message: String, underlying: (any Error)?, request: RequestSummary?,
            response: ResponseHead?, responseBody: Data, attempts: Int, transfer: TransferState?,
            retryAfter: Duration?, history: [AttemptSummary], attachment: (any Sendable)?
        ) {
            self.code = code
            self.message = message
            self.underlying = underlying
            self.request = request
            self.response = response
            self.responseBody = responseBody
            self.attempts = attempts
            self.transfer = transfer
            self.retryAfter = retryAfter
            self.history = history
            self.attachment = attachment
        }
    }

    private var storage: Storage

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
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil,
        response: ResponseHead? = nil, responseBody: Data = Data(),
        transfer: TransferState? = nil, retryAfter: Duration? = nil
    ) {
        storage = Storage(
            code: code, message: message, underlying: underlying, request: nil, response: response,
            responseBody: responseBody, attempts: 0, transfer: transfer, retryAfter: retryAfter,
            history: [], attachment: nil)
    }

    /// What went wrong.
    public var code: Code { storage.code }
    /// What happened and what to do.
    public var message: String { storage.message }
    /// The error that caused this one, or nil.
    public var underlying: (any Error)? { storage.underlying }
    /// The request as it was last sent, redacted; nil where none was made.
    public var request: RequestSummary? { storage.request }
    /// The head of the response, where one had arrived.
    public var response: ResponseHead? { storage.response }
    /// The beginning of the response's content, at most 4 KiB.
    ///
    /// It is never printed.
    public var responseBody: Data { storage.responseBody }
    /// How often the transport was asked to send.
    public var attempts: Int { storage.attempts }
    /// How far the exchange had come; nil where no transport was involved.
    public var transfer: TransferState? { storage.transfer }
    /// How long to wait before it makes sense to try again: what the server asked for (RFC 9110
    /// §10.2.3), or what a breaker or a limit knows; nil where nobody said.
    public var retryAfter: Duration? { storage.retryAfter }
    /// What came of each attempt of a call that was tried again, the latest 32; else empty.
    public var history: [AttemptSummary] { storage.history }

    /// The error with what the call knows filled in where it is missing.
    package func completed(
        request: RequestSummary? = nil, response: ResponseHead? = nil, attempts: Int? = nil,
        retryAfter: Duration? = nil, history: [AttemptSummary] = []
    ) -> ClientError {
        var copy = self
        copy.storage = Storage(
            code: code, message: message, underlying: underlying,
            request: storage.request ?? request, response: storage.response ?? response,
            responseBody: responseBody, attempts: attempts ?? storage.attempts, transfer: transfer,
            retryAfter: storage.retryAfter ?? retryAfter,
            history: storage.history.isEmpty ? history : storage.history,
            attachment: storage.attachment)
        return copy
    }

    /// The error of an exchange that followed another one, which a server had answered: that nothing
    /// of the last request left does not say so of the first.
    package var behindAnAnswer: ClientError {
        guard transfer?.isUnsent == true else { return self }
        var copy = self
        copy.storage = Storage(
            code: code, message: message, underlying: underlying, request: storage.request,
            response: response, responseBody: responseBody, attempts: storage.attempts,
            transfer: TransferState(.receiving), retryAfter: storage.retryAfter,
            history: storage.history, attachment: storage.attachment)
        return copy
    }

    /// What the thrower gave along for who knows its type; never printed.
    package var attachment: (any Sendable)? { storage.attachment }

    /// The error with something given along.
    package func attaching(_ attachment: any Sendable) -> ClientError {
        var copy = self
        copy.storage = Storage(
            code: code, message: message, underlying: underlying, request: request,
            response: response, responseBody: responseBody, attempts: attempts,
            transfer: transfer, retryAfter: retryAfter, history: storage.history,
            attachment: attachment)
        return copy
    }
}

extension ClientError: CustomStringConvertible, CustomReflectable, LocalizedError {
    /// The code, the message, the request and the response in one line, without secrets.
    public var description: String {
        var text = "\(code): \(message)"
        if let request { text += " [\(request)]" }
        if let response { text += " [response \(response.status)]" }
        if !history.isEmpty {
            let outcomes = history.map(\.description).joined(separator: ", ")
            text += " [\(attempts) attempts: \(outcomes)]"
        } else if attempts > 1 {
            text += " [\(attempts) attempts]"
        }
        if let underlying { text += " [caused by \(Self.describe(underlying))]" }
        return text
    }

    // Foundation's errors print all they know, URLs included; their text is enough.
    package static func describe(_ error: any Error) -> String {
        guard let error = error as? URLError else {
            return Redaction.standard.text(String(describing: error))
        }
        return Redaction.standard.text(
            "URLError \(error.code.rawValue): \(error.localizedDescription)")
    }

    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror {
        Mirror(self, children: ["code": code.description, "description": description])
    }
}
