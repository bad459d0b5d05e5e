// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The result of one attempt of a call that was retried.
public struct AttemptSummary: Hashable, Sendable {
    /// The number of the attempt within its call, starting at 1.
    public let number: Int
    /// The status of the response, or nil without a response.
    public let status: HTTPStatus?
    /// The kind of failure as a metrics label; nil if the attempt returned a response.
    public let errorType: String?
    /// The time from the start of the attempt to the response head or the failure.
    public let elapsed: Duration
    /// The wait before the attempt; nil for the first attempt.
    public let delay: Duration?
}

extension AttemptSummary: CustomStringConvertible {
    /// The result and the time: `503 in 200 ms`.
    public var description: String {
        let outcome = status.map { String($0.code) } ?? errorType ?? "given up"
        return "\(outcome) in \(elapsed.text)"
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
