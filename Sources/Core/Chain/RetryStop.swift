/// Why an outcome that was one to try again stands, for the error that comes of it.
package struct RetryStop: Sendable {
    /// The reason that a body is a stream that can be opened once.
    package static let oneShotBody = "its body cannot be sent a second time"

    private let status: HTTPStatus?
    private let code: ClientError.Code?
    private let reason: String

    /// Creates a note on an outcome.
    package init(_ outcome: Outcome, _ reason: String) {
        status = outcome.status
        code = outcome.code
        self.reason = reason
    }

    /// Whether an error tells of that outcome, and not of what a gate has made of it.
    fileprivate func concerns(_ error: ClientError) -> Bool {
        if let status { return error.response?.status == status }
        return error.code == code
    }

    fileprivate var text: String { "; it was not tried again: \(reason)" }
}

extension ClientError {
    /// The error with the reason why nothing was tried again, if it is about this one.
    func explained(by stop: RetryStop?) -> ClientError {
        guard let stop, stop.concerns(self), !message.hasSuffix(stop.text) else { return self }
        return adding(toMessage: stop.text)
    }
}
