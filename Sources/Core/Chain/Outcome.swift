// SPDX-License-Identifier: Apache-2.0

/// The result of an attempt, as gates judge it.
///
/// A rejected response and a returned response have the same ``head``. A retry can therefore act on
/// a status whether the validator is inside or outside the retry.
public struct Outcome: Sendable {
    /// The request as the judging gate passed it to the rest of the chain.
    public let request: Request
    /// The response, or the error.
    public let result: Result<Response, any Error>
    /// The number of attempts that the judging gate has made, starting at 1.
    public let attempts: Int
    /// The time from the start of the attempt to the head of its response.
    public let elapsed: Duration
    /// How long the judging gate waited before this attempt; nil for the first attempt.
    public let previousDelay: Duration?

    /// Creates an outcome.
    public init(
        request: Request, result: Result<Response, any Error>, attempts: Int = 1,
        elapsed: Duration = .zero, previousDelay: Duration? = nil
    ) {
        self.request = request
        self.result = result
        self.attempts = attempts
        self.elapsed = elapsed
        self.previousDelay = previousDelay
    }

    /// The response, if the attempt returned one.
    public var response: Response? { try? result.get() }

    /// The error, if the attempt threw one.
    public var error: (any Error)? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// The head of the response, or of the response in an error.
    public var head: ResponseHead? { response?.head ?? refusedHead }

    private var refusedHead: ResponseHead? {
        code == .validation ? (error as? ClientError)?.response : nil
    }

    /// The status of ``head``.
    public var status: HTTPStatus? { head?.status }

    /// The code of the ``ClientError``, if one was thrown.
    public var code: ClientError.Code? { (error as? ClientError)?.code }

    /// The status with which a proxy refused to connect, or nil.
    public var proxyStatus: HTTPStatus? { (error as? ClientError)?.proxyStatus }

    /// How far the exchange had come, or nil if the transport did not report that.
    public var transfer: TransferState? { (error as? ClientError)?.transfer }

    /// Whether it is certain that no server has processed the request.
    public var isUnsent: Bool { transfer?.isUnsent ?? false }

    /// Whether a kept-alive connection ended before the first byte of a response.
    ///
    /// A lost connection does not prove a fault of the server
    /// (``TransferState/lostReusedConnection``).
    public var hasLostReusedConnection: Bool { transfer?.lostReusedConnection ?? false }

    /// Whether the request's body can be sent again (``RequestBody/isReplayable``).
    public var isReplayable: Bool { request.body.isReplayable }

    /// The status or the kind of failure.
    var label: String {
        status.map { String($0.code) } ?? error.map(ClientError.label(of:)) ?? "a response"
    }

    /// Whether the attempt ended because the call was cancelled or its deadline passed.
    public var isCancellation: Bool {
        switch error {
        case is CancellationError: true
        case let error as ClientError: error.code == .cancelled || error.code == .deadlineExceeded
        default: false
        }
    }
}

extension AttemptSummary {
    init(_ outcome: Outcome, number: Int) {
        self.number = number
        status = outcome.status
        errorType = outcome.error.map(ClientError.label(of:))
        elapsed = outcome.elapsed
        delay = outcome.previousDelay
    }
}

extension ClientError {
    /// Returns an error that replaces an outcome, with the outcome's error as its cause.
    func caused(by outcome: Outcome) -> ClientError {
        let cause = outcome.error as? ClientError
        let isItself = cause?.code == code && cause?.message == message
        return completed(
            response: outcome.head, transfer: outcome.transfer,
            underlying: isItself ? nil : outcome.error)
    }
}
