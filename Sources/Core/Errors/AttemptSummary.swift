/// What came of one attempt of a call that was tried again.
public struct AttemptSummary: Hashable, Sendable {
    /// The attempt's number within its call, from 1.
    public let number: Int
    /// The status of the response, where one came.
    public let status: HTTPStatus?
    /// The kind of failure, as a word that is fit for a label; nil where a response stood.
    public let errorType: String?
    /// How long the attempt took, up to the head of its response or its failure.
    public let elapsed: Duration
    /// How long the call waited before the attempt; nil before the first.
    public let delay: Duration?
}

extension AttemptSummary: CustomStringConvertible {
    /// What came of it and when: `503 in 0.2 s`.
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
