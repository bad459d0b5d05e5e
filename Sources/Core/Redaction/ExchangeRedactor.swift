// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
import TurnpikeSupport

/// Redacts recorded exchanges.
///
/// A secret that one message reveals is hidden in all others, wherever it occurs and however it is
/// escaped.
///
/// Values keep their kinds, so that programs can still parse the recorded content.
public final class ExchangeRedactor: Sendable {
    private let redaction: Redaction
    private let allowedTypes: [MediaType]
    private let known = Mutex(SecretIndex())

    /// Creates a redactor that knows no secrets yet.
    /// - Parameters:
    ///   - redaction: The rules.
    ///   - allowedTypes: The media types whose content is searched as bytes although no parser
    ///     here reads it, such as `application/cbor` or `*/*`. Other such content is withheld.
    public init(_ redaction: Redaction, allowedTypes: [MediaType] = []) {
        self.redaction = redaction
        self.allowedTypes = allowedTypes
    }

    // MARK: Learning

    /// Whether the limit of known secrets was reached, so that later secrets may stay visible.
    public var isFull: Bool { known.withLock { $0.isFull } }

    /// A version that grows with each secret that is learned.
    public var knowledge: Int { known.withLock { $0.version } }

    /// Learns the secrets of a request.
    public func learn(_ request: Request, content: Data?) {
        let pass = RedactionPass(redaction, .record, onlyLearns: true)
        _ = pass.url(request.targetURI.text)
        learn(request.headers, content, pass)
    }

    /// Learns the secrets of a response.
    public func learn(_ headers: HTTPHeaders, content: Data?) {
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

    // MARK: Redacting

    /// Returns a URL without its secrets.
    public func url(_ url: String) -> String { pass().url(Grammar.escaped(url)) }

    /// Returns header fields without their secrets; cookies keep their names.
    public func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        let pass = pass()
        return HTTPHeaders(headers.map { ($0.name.rawValue, pass.header($0.name, $0.value)) })
    }

    /// Returns content without its secrets.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - headers: The header fields, for the media type.
    ///   - isCut: Whether the content was truncated.
    ///   - isRecorded: Whether the content comes from a recording and may already contain
    ///     placeholders.
    /// - Returns: The bytes, and the parts that were withheld.
    public func content(
        _ content: Data, headers: HTTPHeaders, isCut: Bool = false, isRecorded: Bool = false
    ) -> (content: Data, withheld: [String]) {
        let pass = pass(isRecorded: isRecorded)
        let types = headers.values(of: .contentType)
        let part = ContentPart(headers.values(of: .contentRange))
        let isCut = isCut || part.isCut
        let shown =
            part.beginsWithin
            ? pass.remainder(Array(content), types: types, isCut: isCut)
            : pass.content(Array(content), types: types, isCut: isCut)
        return (Data(shown), pass.withheld.map(\.description))
    }

    /// Redacts recorded JSON again.
    ///
    /// Returns nil if the JSON contains none of the secrets that are known now.
    public func renewed(_ json: Data) -> Data? {
        let pass = pass(isRecorded: true)
        let bytes = Array(json)
        guard Spelling(bytes).holds(pass.known, work: &pass.work) else { return nil }
        return Data(pass.content(bytes, types: ["application/json"], isCut: false))
    }

    fileprivate func pass(isRecorded: Bool = false) -> RedactionPass {
        RedactionPass(
            redaction, .record, known: known.withLock { $0 }, isRecorded: isRecorded,
            allowedTypes: allowedTypes)
    }
}

extension ExchangeRedactor {
    /// The number of bytes inspected to redact content, over all readings; for tests of the cost.
    func work(onContent content: Data, headers: HTTPHeaders) -> Int {
        let pass = pass()
        _ = pass.content(Array(content), types: headers.values(of: .contentType), isCut: false)
        return pass.work
    }
}
