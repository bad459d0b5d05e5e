// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension ClientError {
    /// The request as last sent, without secrets.
    ///
    /// If a deadline ended before the first send, this is the request that the caller described. If
    /// the call failed before the first send for another reason, the request is nil.
    public var request: RequestSummary? { sent.map { RequestSummary($0) } }
}

extension ClientError: DescriptionReflectable, LocalizedError {
    /// The code, message, request and response in one line without secrets.
    public var description: String {
        let rules = rules
        var text = "\(code): \(rules.unescapedText(message))"
        if let request { text += " [\(request)]" }
        if let response { text += " [response \(response.status)]" }
        if let problem {
            let words = rules.unescapedText(problem.text)
            text += " [problem: \(Grammar.escaped(words, upTo: 1000))]"
        }
        if !history.isEmpty {
            let outcomes = history.map(\.description).joined(separator: ", ")
            // The number includes hedges, replays and redirects; an attempt may end before a send.
            let times = attempts == 1 ? "once" : "\(attempts) times"
            let sent = attempts == history.count ? "" : ", sent \(times)"
            text += " [\(history.count) attempts\(sent): \(outcomes)]"
        } else if attempts > 1 {
            text += " [sent \(attempts) times]"
        }
        if let underlying { text += " [caused by \(Self.describe(underlying, rules))]" }
        return text
    }

    /// The message without secrets, for printing without the other parts of the error.
    public var shownMessage: String { rules.unescapedText(message) }

    /// The description of the cause without secrets.
    public var shownCause: String? { underlying.map { Self.describe($0, rules) } }

    private var rules: Redaction {
        .standard.hiding(secretsOf: [sent], [response?.headers], content: responseBody)
    }

    // Foundation's errors print everything, including URLs, and decoding errors print the found
    // values. Only the messages of these errors are used.
    static func describe(_ error: any Error, _ rules: Redaction) -> String {
        let text =
            switch error {
            case let error where error._domain == "NSURLErrorDomain": "URLError \(error._code)"
            case let error as DecodingError: "DecodingError: \(reason(error))"
            default: String(describing: error)
            }
        return rules.text(text)
    }

    /// The text of ``description``.
    public var errorDescription: String? { description }
}

extension ProblemDetails: DescriptionReflectable {
    /// Title and detail without secrets.
    public var description: String { Redaction.standard.text(text) }
}
