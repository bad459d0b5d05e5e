// SPDX-License-Identifier: Apache-2.0

/// The reason why a retryable outcome was not retried, for the message of the error.
struct RetryStop: Sendable {
    private let status: HTTPStatus?
    private let code: ClientError.Code?
    private let reason: String

    init(_ outcome: Outcome, _ reason: String) {
        status = outcome.status
        code = outcome.code
        self.reason = reason
    }

    fileprivate func concerns(_ error: ClientError) -> Bool {
        if let status { return error.response?.status == status }
        return error.code == code
    }

    fileprivate var text: String { "; it was not tried again: \(reason)" }
}

extension ClientError {
    func explained(by stop: RetryStop?) -> ClientError {
        guard let stop, stop.concerns(self), !message.hasSuffix(stop.text) else { return self }
        return adding(toMessage: stop.text)
    }
}

extension Context {
    /// Records the reason why a retryable outcome is not retried.
    ///
    /// A ``RequestRetrier`` whose rules accept the outcome sets the reason for the error.
    /// - Parameters:
    ///   - outcome: The outcome.
    ///   - reason: The reason, which follows "it was not tried again: " in the message.
    public func willNotRetry(_ outcome: Outcome, because reason: String) {
        call.record.lastStop = RetryStop(outcome, reason)
    }

    /// States that no gate may send the call again (``retriesForbidden``).
    ///
    /// A gate whose calls share one exchange uses this method if a retrier has ended the exchange.
    public func forbidRetries() { call.record.fail() }
}
