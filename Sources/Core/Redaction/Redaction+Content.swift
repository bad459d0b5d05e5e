public import Foundation

extension Redaction {
    /// The beginning of some content as it may be printed: text with secrets hidden and control
    /// characters escaped, or its size where it is no text.
    ///
    /// JSON, forms, XML and event streams are read: the values of names that are those of secrets are
    /// hidden, whatever they are, and the secrets in all other values. Other text is searched. Of
    /// content that is not what its type says the part that could be read is shown.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - type: Their media type.
    ///   - isCut: Whether the content goes on where the bytes end. JSON and XML may be cut off
    ///     anywhere; of other text the end of a secret is known by this alone.
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

    /// Content for people, as bytes, and nothing escaped; nil where it cannot be read to its end.
    ///
    /// Without a type that is known it is read as what it looks like.
    package func shownBytes(_ data: Data, type: MediaType?) -> [UInt8]? {
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

/// The secrets that messages carry, in case a text repeats one.
struct CarriedSecrets {
    private(set) var index = SecretIndex()

    /// - Parameters:
    ///   - requests: The requests.
    ///   - headers: The header fields of a response.
    ///   - content: The beginning of its content.
    ///   - redaction: What is a secret.
    init(
        of requests: [Request], _ headers: HTTPHeaders? = nil, content: Data = Data(),
        by redaction: Redaction
    ) {
        let pass = RedactionPass(redaction, .record, onlyLearns: true)
        for request in requests {
            _ = pass.url(request.url.absoluteString)
            for field in request.headers { _ = pass.header(field.name, field.value) }
            if let data = request.body.inMemory, data.count <= Self.maxContent {
                _ = pass.content(
                    Array(data), types: request.headers.values(of: .contentType), isCut: false)
            }
        }
        for field in headers ?? [:] { _ = pass.header(field.name, field.value) }
        let types = headers?.values(of: .contentType) ?? []
        _ = pass.content(Array(content), types: types, isCut: true)
        for (secret, reach) in pass.found { index.insert(secret, reach) }
    }

    // What is larger is not searched for secrets each time that an error is printed.
    private static let maxContent = 65_536
}
