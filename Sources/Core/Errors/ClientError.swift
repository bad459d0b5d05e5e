// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The failure of a call: a code to compare, a message with a remedy, and the circumstances.
///
/// ```swift
/// do {
///     user = try await client.get("users/1").decode(User.self)
/// } catch ClientError.Code.deadlineExceeded {
///     user = cached
/// }
/// ```
///
/// The errors of your own gates reach the caller unchanged. If a task is cancelled, the caller gets
/// `CancellationError`. All printed text of this type is free of secrets.
public struct ClientError: Error, Sendable {
    private struct Details: Sendable {
        var code: Code
        var message: String
        var underlying: (any Error)?
        // The request as sent, whose secrets are hidden in all printed text.
        var sent: Request?
        var response: ResponseHead?
        var responseBody: Data
        var isResponseBodyCut: Bool
        var attempts = 0
        var transfer: TransferState?
        var retryAfter: Duration?
        var proxyStatus: HTTPStatus?
        var history: [AttemptSummary] = []
        var attachment: (any Sendable)?
    }

    // The details are in a class, which makes an error one pointer wide.
    private final class Storage: Sendable {
        let details: Details

        init(_ details: Details) { self.details = details }
    }

    private var storage: Storage
    private var details: Details { storage.details }

    /// Creates an error, to which the client adds the request as sent and the number of attempts.
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The failure and its remedy, without secrets.
    ///   - underlying: The cause of the error.
    ///   - response: The head of the response, if one arrived.
    ///   - responseBody: The response content, or its beginning; at most 4 KiB by convention.
    ///   - isResponseBodyCut: Whether the content has more bytes, if known.
    ///   - transfer: The state of the exchange, if the transport knows the state.
    ///   - retryAfter: The shortest wait before a useful retry.
    ///   - proxyStatus: The status with which a proxy refused to connect.
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil,
        response: ResponseHead? = nil, responseBody: Data = Data(),
        isResponseBodyCut: Bool = false, transfer: TransferState? = nil,
        retryAfter: Duration? = nil,
        proxyStatus: HTTPStatus? = nil
    ) {
        storage = Storage(
            Details(
                code: code, message: message, underlying: underlying, response: response,
                responseBody: responseBody, isResponseBodyCut: isResponseBodyCut,
                transfer: transfer, retryAfter: retryAfter,
                proxyStatus: proxyStatus))
    }

    /// The kind of failure.
    public var code: Code { details.code }
    /// The failure and its remedy.
    public var message: String { details.message }
    /// The cause of this error, or nil.
    public var underlying: (any Error)? { details.underlying }
    var sent: Request? { details.sent }
    /// The head of the response, if a response arrived.
    public var response: ResponseHead? { details.response }
    /// The response content, or the beginning of the content.
    ///
    /// The error contains 4 KiB, unless the gate that refused the response keeps more
    /// (``ResponseValidator/keptBytes(for:)``). ``description`` contains only the ``problem``.
    public var responseBody: Data { details.responseBody }
    /// Whether ``responseBody`` may be only the beginning of the content that the server sent.
    public var isResponseBodyCut: Bool { details.isResponseBodyCut }
    /// The number of sends of the call.
    public var attempts: Int { details.attempts }
    /// The state of the exchange at the failure, or nil if no transport was involved.
    public var transfer: TransferState? { details.transfer }
    /// The wait that a server, a circuit breaker or a limit asks for before a retry, or nil.
    public var retryAfter: Duration? { details.retryAfter }
    /// The status with which a proxy refused a `CONNECT` (RFC 9110 §9.3.6), or nil.
    ///
    /// In this case ``response`` is nil, because the status does not come from the server. The
    /// reply of a SOCKS proxy is converted to the equivalent status.
    public var proxyStatus: HTTPStatus? { details.proxyStatus }
    /// The results of the last 32 attempts if the call was retried; otherwise empty.
    public var history: [AttemptSummary] { details.history }

    func completed(
        sent: Request? = nil, response: ResponseHead? = nil, attempts: Int? = nil,
        retryAfter: Duration? = nil, history: [AttemptSummary] = [],
        transfer: TransferState? = nil, underlying: (any Error)? = nil
    ) -> ClientError {
        changed { details in
            details.sent = details.sent ?? sent?.withoutLargeBody
            details.response = details.response ?? response
            details.attempts = attempts ?? details.attempts
            details.retryAfter = details.retryAfter ?? retryAfter
            details.transfer = details.transfer ?? transfer
            details.underlying = details.underlying ?? underlying
            if details.history.isEmpty { details.history = history }
        }
    }

    /// Returns the error with a response head, unless the error already has a response head.
    public func completed(response: ResponseHead) -> ClientError {
        completed(sent: nil, response: response)
    }

    func adding(toMessage text: String) -> ClientError { changed { $0.message += text } }

    /// Returns the error for a later exchange of a call whose earlier request was answered.
    ///
    /// A gate that sends again after an answer, for example after a redirect, throws this error.
    /// With this error, the call counts as sent, even if the later request was not sent.
    public var behindAnAnswer: ClientError {
        guard transfer?.isUnsent == true else { return self }
        return changed { $0.transfer = TransferState(.receiving) }
    }

    /// Returns the error for a second send of a request that was already written once.
    var behindASend: ClientError {
        guard transfer?.isUnsent == true else { return self }
        return changed { $0.transfer = TransferState(.sending) }
    }

    /// A value for code that knows the type of the value; the value is never printed.
    public var attachment: (any Sendable)? { details.attachment }

    /// Returns the error with a value that ``attachment`` returns.
    public func attaching(_ attachment: any Sendable) -> ClientError {
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
    // The request is stored without large content, because an error may be stored for a long time.
    fileprivate var withoutLargeBody: Request {
        if body.isEmpty || (body.inMemory?.count ?? .max) <= 4096 { return self }
        var request = self
        request.body = .empty
        return request
    }
}
