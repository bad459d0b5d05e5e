// SPDX-License-Identifier: Apache-2.0

/// Why a retryable outcome was accepted, for the message of the resulting error.
package struct RetryStop: Sendable {
    /// The reason if the body is a stream that can be opened only once.
    package static let oneShotBody = "its body cannot be sent a second time"

    private let status: HTTPStatus?
    private let code: ClientError.Code?
    private let reason: String

    /// Records the reason for an outcome.
    package init(_ outcome: Outcome, _ reason: String) {
        status = outcome.status
        code = outcome.code
        self.reason = reason
    }

    /// Whether an error describes that outcome, rather than what another gate made of it.
    fileprivate func concerns(_ error: ClientError) -> Bool {
        if let status { return error.response?.status == status }
        return error.code == code
    }

    fileprivate var text: String { "; it was not tried again: \(reason)" }
}

extension ClientError {
    /// Adds the reason to the error's message if the error describes that outcome.
    func explained(by stop: RetryStop?) -> ClientError {
        guard let stop, stop.concerns(self), !message.hasSuffix(stop.text) else { return self }
        return adding(toMessage: stop.text)
    }
}
