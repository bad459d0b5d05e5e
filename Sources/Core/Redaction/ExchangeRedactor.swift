package import Foundation
import Synchronization

/// Takes the secrets out of exchanges that are kept: what one message shows to be a secret is hidden in
/// all others, wherever it stands and however it is spelled there.
///
/// Values keep their kinds, so that what is kept can be read by the program that made it.
package final class ExchangeRedactor: Sendable {
    private let redaction: Redaction
    private let known = Mutex(SecretIndex())

    /// Creates a redactor that knows nothing yet.
    package init(_ redaction: Redaction) { self.redaction = redaction }

    // MARK: What is learned

    /// Whether more secrets were met than can be looked for: one could stand in what is shown.
    package var isFull: Bool { known.withLock { $0.isFull } }

    /// Grows with each secret that is learned.
    package var knowledge: Int { known.withLock { $0.version } }

    /// Learns the secrets of a request.
    package func learn(_ request: Request, content: Data?) {
        let pass = RedactionPass(redaction, .record, onlyLearns: true)
        _ = pass.url(request.url.absoluteString)
        learn(request.headers, content, pass)
    }

    /// Learns the secrets of a response.
    package func learn(_ headers: HTTPHeaders, content: Data?) {
        learn(headers, content, RedactionPass(redaction, .record, onlyLearns: true))
    }

    private func learn(_ headers: HTTPHeaders, _ content: Data?, _ pass: RedactionPass) {
        for field in headers { _ = pass.header(field.name, field.value) }
        if let content {
            _ = pass.content(Array(content), types: headers.values(of: .contentType), isCut: true)
        }
        known.withLock { known in
            for (secret, reach) in pass.found { known.insert(secret, reach, inBase64: true) }
        }
    }

    // MARK: What is shown

    /// A URL without its secrets.
    package func url(_ url: String) -> String { pass().url(Grammar.escaped(url)) }

    /// Header fields without their secrets; cookies keep their names.
    package func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        let pass = pass()
        return HTTPHeaders(headers.map { ($0.name.rawValue, pass.header($0.name, $0.value)) })
    }

    /// Content without its secrets.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - headers: The header fields, which tell its type.
    ///   - isCut: Whether it goes on where it ends here.
    ///   - isRecorded: Whether it comes from a recording, with placeholders in it.
    /// - Returns: The bytes, and what of them is withheld.
    package func content(
        _ content: Data, headers: HTTPHeaders, isCut: Bool = false, isRecorded: Bool = false
    ) -> (content: Data, withheld: [WithheldContent]) {
        let pass = pass(isRecorded: isRecorded)
        let shown = pass.content(
            Array(content), types: headers.values(of: .contentType), isCut: isCut)
        return (Data(shown), pass.withheld)
    }

    /// JSON that was redacted when less was known, without what has been learned since; nil where it
    /// holds nothing of that.
    package func renewed(_ json: Data) -> Data? {
        let pass = pass(isRecorded: true)
        let bytes = Array(json)
        guard Spelling(bytes).holds(pass.known, work: &pass.work) else { return nil }
        return Data(pass.content(bytes, types: ["application/json"], isCut: false))
    }

    fileprivate func pass(isRecorded: Bool = false) -> RedactionPass {
        RedactionPass(
            redaction, .record, known: known.withLock { $0 }, isRecorded: isRecorded)
    }
}

extension ExchangeRedactor {
    /// How many bytes are looked at to redact content, in all readings of them; for tests of its cost.
    package func work(onContent content: Data, headers: HTTPHeaders) -> Int {
        let pass = pass()
        _ = pass.content(Array(content), types: headers.values(of: .contentType), isCut: false)
        return pass.work
    }
}
