// SPDX-License-Identifier: Apache-2.0

/// The result of an attempt, from which gates decide what to do next.
///
/// A rejected response and a returned response have the same ``head``. A retry gate can therefore
/// use the status, whether a validator is inside or outside the retry gate.
public struct Outcome: Sendable {
    /// The request that the gate passed to the inner gates.
    public let request: Request
    /// The response, or the error.
    public let result: Result<Response, any Error>
    /// The number of attempts that the gate has made, starting at 1.
    public let attempts: Int
    /// The time from the start of the attempt to the response head.
    public let elapsed: Duration
    /// The wait before this attempt, or nil for the first attempt.
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

    /// The response, if the attempt returned a response.
    public var response: Response? { try? result.get() }

    /// The error, if the attempt threw an error.
    public var error: (any Error)? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// The head of the response, or of the rejected response in the error.
    public var head: ResponseHead? { response?.head ?? refusedHead }

    private var refusedHead: ResponseHead? {
        code == .validation ? (error as? ClientError)?.response : nil
    }

    /// The status of ``head``.
    public var status: HTTPStatus? { head?.status }

    /// The code of the error, if the error is a ``ClientError``.
    public var code: ClientError.Code? { (error as? ClientError)?.code }

    /// The status with which a proxy refused to connect, or nil.
    public var proxyStatus: HTTPStatus? { (error as? ClientError)?.proxyStatus }

    /// The last state of the exchange, or nil if the transport did not report the state.
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

    var label: String {
        status.map { String($0.code) } ?? error.map(ClientError.label(of:)) ?? "a response"
    }

    /// Whether the attempt ended because the call was cancelled or the deadline ended.
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
    func caused(by outcome: Outcome) -> ClientError {
        let cause = outcome.error as? ClientError
        let isItself = cause?.code == code && cause?.message == message
        return completed(
            response: outcome.head, transfer: outcome.transfer,
            underlying: isItself ? nil : outcome.error)
    }
}
