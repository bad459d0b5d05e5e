// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeSupport

extension Redaction {
    /// Returns the beginning of some content in printable form.
    ///
    /// Text has its secrets hidden and its control characters escaped. Other content is replaced by
    /// its size. JSON, forms, XML and event streams are parsed: the values of secret names are
    /// hidden whatever they are, and so are the secrets in all other values. Other text is
    /// searched. If content does not match its type, the part that could be parsed is shown.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - type: The media type of the bytes.
    ///   - isCut: Whether the content was truncated. JSON and XML may be truncated anywhere. In
    ///     other text, only this flag tells that a secret at the end may be incomplete.
    /// - Returns: The text.
    public func content(_ data: Data, type: MediaType?, isCut: Bool = false) -> String {
        content(data, type: type, isCut: isCut, known: SecretIndex())
    }

    func content(_ data: Data, type: MediaType?, isCut: Bool, known: SecretIndex) -> String {
        if data.isEmpty { return "" }
        guard let type, Self.isText(type) else { return "(\(data.count) bytes)" }
        let pass = RedactionPass(self, .display, known: known)
        let shown = pass.content(Array(data), types: [type.description], isCut: isCut)
        return Grammar.escaped(String(decoding: shown, as: UTF8.self))
    }

    /// Returns content for display as bytes without escaping, or nil if it cannot be parsed
    /// completely.
    ///
    /// Content without a known type is treated as what it looks like.
    public func shownBytes(_ data: Data, type: MediaType?) -> [UInt8]? {
        let pass = RedactionPass(self, .display, keepsCoding: true)
        let types = [type?.description].compactMap(\.self)
        let shown = pass.content(Array(data), types: types, isCut: false)
        return pass.withheld.isEmpty ? shown : nil
    }

    private static func isText(_ type: MediaType) -> Bool {
        if type.type == "text" || type.suffix == "json" || type.suffix == "xml" { return true }
        return ["json", "xml", "x-www-form-urlencoded", "javascript"].contains(type.subtype)
            || ContentKind(type) == .jsonLines
    }
}

/// The secrets that messages carry, in case an error text repeats one.
struct CarriedSecrets {
    private(set) var index = SecretIndex()

    /// - Parameters:
    ///   - requests: The requests.
    ///   - headers: The header fields of a response.
    ///   - content: The beginning of the response content.
    ///   - redaction: Decides what is a secret.
    init(
        of requests: [Request], _ headers: HTTPHeaders? = nil, content: Data = Data(),
        by redaction: Redaction
    ) {
        self.init(
            of: requests, headers.map { [$0] } ?? [], content: content, by: redaction)
    }

    /// - Parameters:
    ///   - requests: The requests.
    ///   - sections: The header sections of responses.
    ///   - content: The beginning of the content of the last response.
    ///   - redaction: Decides what is a secret.
    init(
        of requests: [Request], _ sections: [HTTPHeaders], content: Data = Data(),
        by redaction: Redaction
    ) {
        let pass = RedactionPass(redaction, .record, onlyLearns: true)
        for request in requests {
            _ = pass.url(request.targetURI.text)
            for field in request.headers { _ = pass.header(field.name, field.value) }
            if let data = request.body.inMemory, data.count <= Self.maxContent {
                _ = pass.content(
                    Array(data), types: request.headers.values(of: .contentType), isCut: false)
            }
        }
        for field in sections.joined() { _ = pass.header(field.name, field.value) }
        let types = sections.last?.values(of: .contentType) ?? []
        _ = pass.content(Array(content), types: types, isCut: true)
        for (secret, reach) in pass.found { index.insert(secret, reach) }
    }

    // Larger content is not searched for secrets each time an error is printed.
    static let maxContent = 65_536
}
