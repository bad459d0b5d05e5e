public import Foundation

extension Redaction {
    /// The beginning of some content as it may be printed: text with secrets hidden and control
    /// characters escaped, or its size where it is no text.
    ///
    /// In JSON the values of members with secret names are hidden, whatever they are, and in forms
    /// those of such fields; the content may be cut off anywhere. Names inside a text are not
    /// looked for.
    public func content(_ data: Data, type: MediaType?) -> String {
        if data.isEmpty { return "" }
        guard let type, Self.isText(type) else { return "(\(data.count) bytes)" }
        return Grammar.escaped(redacted(String(decoding: data, as: UTF8.self), type: type))
    }

    /// Content that is text with its secrets hidden, and nothing escaped.
    ///
    /// Without a type that is known it is read as JSON where it looks like it, else as a form.
    package func redacted(_ text: String, type: MediaType?) -> String {
        let isForm = type?.essence == MediaType.form.essence
        if let type, Self.isText(type), !isForm {
            if Self.isJSON(type) { return JSONRedactor(text, self).result() }
            let isXML = type.subtype == "xml" || type.suffix == "xml"
            return unescapedText(isXML ? XMLRedactor(text).result() : text)
        }
        if !isForm, Self.looksLikeJSON(text) { return JSONRedactor(text, self).result() }
        return items((isForm ? text : unescapedText(text))[...], depth: 0)
    }

    private static func isJSON(_ type: MediaType) -> Bool {
        type.subtype == "json" || type.suffix == "json" || type.subtype.contains("ndjson")
    }

    /// The secrets that a request carries, in case a response repeats them: values of hidden fields
    /// and query items, and their parts, the longest first.
    ///
    /// They are bytes, for another spelling of the same character is another secret.
    package func secrets(of request: Request) -> [Data] {
        var secrets: [String] = []
        for field in request.headers where hides(header: field.name) {
            let parts = field.value.unicodeScalars.split { " ;,=\"".unicodeScalars.contains($0) }
            secrets += [field.value] + parts.map { String(Substring($0)) }
        }
        let components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        secrets += [components?.password, components?.user].compactMap(\.self)
        for item in components?.queryItems ?? [] where hides(key: item.name) {
            if let value = item.value { secrets.append(value) }
        }
        // What is shorter stands everywhere and tells nothing.
        return Set(secrets.map { Data($0.utf8) }).filter { $0.count >= 4 }
            .sorted { $0.count > $1.count }
    }

    private static func isText(_ type: MediaType) -> Bool {
        if type.type == "text" || type.suffix == "json" || type.suffix == "xml" { return true }
        return ["json", "xml", "x-www-form-urlencoded", "x-ndjson", "javascript"].contains(
            type.subtype)
    }
}
