// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Returns the message of an error without secrets and control characters.
    ///
    /// Use it in a gate that records errors elsewhere. The message is ``ClientError/message`` for a
    /// ``ClientError``, and the description for any other error. If the message repeats a secret of
    /// the request, of the call's last sent request, or of the response, the secret is hidden.
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request as it reached the gate.
    ///   - head: The head of the response. If nil, the head in the error is used.
    ///   - redaction: The rules for hiding secrets.
    /// - Returns: The message.
    public func shownMessage(
        of error: any Error, for request: Request, head: ResponseHead? = nil,
        redaction: Redaction = .standard
    ) -> String {
        let known = error as? ClientError
        let secrets = CarriedSecrets(
            of: [request, call.record.lastSent].compactMap(\.self),
            [head, known?.response].compactMap { $0?.headers },
            content: known?.responseBody ?? Data(), by: redaction)
        let pass = RedactionPass(redaction, .display, known: secrets.index)
        guard let known else { return ClientError.describe(error, pass) }
        return Grammar.escaped(pass.redacted(known.message, as: .text))
    }
}
