// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Redacts recorded exchanges, unless redaction is turned off.
///
/// A secret of one message is hidden in all messages, in any place and with any escaping. Values
/// keep their kinds, because programs must still parse the recorded content.
final class ExchangeRedactor: Sendable {
    private let redaction: Redaction?
    private let allowedTypes: [MediaType]
    private let rules: Mutex<Redaction?>

    // Creates a redactor without known secrets. Without rules, the redactor changes nothing.
    init(_ redaction: Redaction?, allowedTypes: [MediaType] = []) {
        self.redaction = redaction
        rules = Mutex(redaction)
        self.allowedTypes = allowedTypes
    }

    // MARK: Learning

    var knowledge: Int { rules.withLock { $0?.secretCount ?? 0 } }

    /// Throws if there are too many secrets to search for.
    func checkRoom() throws {
        guard rules.withLock({ $0?.isFull }) == true else { return }
        throw ClientError(
            .tooLarge,
            "the cassette found more secrets than it can search for in its messages, so it is not"
                + " written; record fewer exchanges in one file, or without redaction")
    }

    func learn(_ request: Request, content: Data?) {
        learn(request.headers, content: content, url: request.url.absoluteString)
    }

    func learn(_ headers: HTTPHeaders, content: Data?) {
        learn(headers, content: content, url: nil)
    }

    private func learn(_ headers: HTTPHeaders, content: Data?, url: String?) {
        guard let redaction else { return }
        let contents = ContentRedactor(redaction, onlyLearns: true)
        if let url { _ = contents.pass.url(url) }
        for field in headers { _ = contents.pass.header(field.name, field.value) }
        if let content {
            _ = contents.content(
                Array(content), types: headers.values(of: .contentType), isCut: true)
        }
        rules.withLock { $0?.hide(secretsOf: contents.pass) }
    }

    // MARK: Redacting

    func url(_ url: String) -> String { contents()?.pass.url(Grammar.escaped(url)) ?? url }

    // Returns header fields without secrets. Cookies keep their names.
    func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        guard let pass = contents()?.pass else { return headers }
        return headers.reduce(into: HTTPHeaders()) { shown, field in
            shown.appendReceived(field.name, pass.header(field.name, field.value))
        }
    }

    /// Returns content without secrets, and the withheld parts.
    ///
    /// Content of a recording may already contain placeholders.
    func content(
        _ content: Data, headers: HTTPHeaders, isCut: Bool = false, isRecorded: Bool = false
    ) -> (content: Data, withheld: [String]) {
        guard let contents = contents(isRecorded: isRecorded) else { return (content, []) }
        let types = headers.values(of: .contentType)
        let part = ContentPart(headers.values(of: .contentRange))
        let isCut = isCut || part.isCut
        let shown =
            part.beginsWithin
            ? contents.remainder(Array(content), types: types, isCut: isCut)
            : contents.content(Array(content), types: types, isCut: isCut)
        return (Data(shown), contents.pass.withheld)
    }

    /// Redacts recorded JSON again, or returns nil if the JSON contains no known secret.
    func renewed(_ json: Data) -> Data? {
        let bytes = Array(json)
        guard let rules = rules.withLock({ $0 }), rules.hidesSecret(in: bytes) else { return nil }
        let contents = ContentRedactor(rules, isRecorded: true, allowedTypes: allowedTypes)
        return Data(contents.content(bytes, types: ["application/json"], isCut: false))
    }

    /// Returns a redactor of contents with the known secrets, or nil if nothing is hidden.
    func contents(isRecorded: Bool = false) -> ContentRedactor? {
        rules.withLock { $0 }.map {
            ContentRedactor($0, isRecorded: isRecorded, allowedTypes: allowedTypes)
        }
    }
}

extension HTTPHeaders {
    var mediaType: MediaType? { first(.contentType).flatMap(MediaType.init(parsing:)) }
}
