// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Redacts texts that are shown together: a secret that a message of a call has shown to be one is
/// hidden in all of them, because a server may repeat a token in a header field or in an error.
///
/// Not sendable: one reader makes it and uses it.
public struct ShownTexts {
    /// Content beyond so many bytes is not searched for secrets.
    public static let maxContentBytes = CarriedSecrets.maxContent

    private let pass: RedactionPass

    /// Learns the secrets of messages.
    /// - Parameters:
    ///   - requests: The requests, with the content that is in memory.
    ///   - sections: The header sections of responses.
    ///   - redaction: Decides what is a secret.
    public init(of requests: [Request], _ sections: [HTTPHeaders], by redaction: Redaction) {
        let known = CarriedSecrets(of: requests, sections, by: redaction).index
        pass = RedactionPass(redaction, .display, known: known)
    }

    /// A text in printable form.
    public func text(_ text: String) -> String { Grammar.escaped(pass.redacted(text, as: .text)) }

    /// The URL of a request in printable form.
    public func url(of request: Request) -> String {
        let target = request.targetURI
        if target.fault != nil { return "(invalid URL)" }
        return Grammar.escaped(pass.redacted(target.text, as: .url))
    }

    /// The value of a header field in printable form.
    public func value(of field: HTTPHeaders.Field) -> String {
        Grammar.escaped(pass.header(field.name, field.value))
    }
}

@available(*, unavailable) extension ShownTexts: Sendable {}
