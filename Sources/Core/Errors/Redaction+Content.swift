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
            return Self.isJSON(type) ? JSONRedactor(text, self).result() : unescapedText(text)
        }
        if !isForm, let first = text.first(where: { !$0.isWhitespace }), "{[".contains(first) {
            return JSONRedactor(text, self).result()
        }
        return form(isForm ? text : unescapedText(text))
    }

    private static func isJSON(_ type: MediaType) -> Bool {
        type.subtype == "json" || type.suffix == "json" || type.subtype.contains("ndjson")
    }

    /// The secrets that a request carries, in case a response repeats them: values of hidden fields
    /// and query items, and their parts.
    package func secrets(of request: Request) -> [String] {
        var secrets: [String] = []
        for field in request.headers where hides(header: field.name) {
            secrets += [field.value] + field.value.split { " ;,=\"".contains($0) }.map(String.init)
        }
        let components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        secrets += [components?.password, components?.user].compactMap(\.self)
        for item in components?.queryItems ?? [] where hides(key: item.name) {
            if let value = item.value { secrets.append(value) }
        }
        // What is shorter stands everywhere and tells nothing.
        return Set(secrets).filter { $0.utf8.count >= 4 }.sorted { $0.count > $1.count }
    }

    private static func isText(_ type: MediaType) -> Bool {
        if type.type == "text" || type.suffix == "json" || type.suffix == "xml" { return true }
        return ["json", "xml", "x-www-form-urlencoded", "x-ndjson", "javascript"].contains(
            type.subtype)
    }

    private func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: "="),
                hides(key: item[..<equals].replacingOccurrences(of: "+", with: " "))
            else { return String(item) }
            return item[...equals] + Self.mark
        }.joined(separator: "&")
    }
}

/// Copies JSON text and leaves out the values of secret members.
///
/// It needs no valid text, and no whole one.
private struct JSONRedactor {
    private let bytes: [UInt8]
    private let redaction: Redaction
    private var output: [UInt8] = []
    private var position = 0

    init(_ text: String, _ redaction: Redaction) {
        bytes = Array(text.utf8)
        self.redaction = redaction
    }

    consuming func result() -> String {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\"") {
                copyString()
            } else {
                output.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private mutating func copyString() {
        let start = position
        skipString()
        output += redacted(bytes[start..<position])
        let name = position
        var next = position
        while next < bytes.count, bytes[next] <= 0x20 { next += 1 }
        guard next < bytes.count, bytes[next] == UInt8(ascii: ":"), hides(bytes[start..<name])
        else { return }
        position = next + 1
        output += Array(":\"\(Redaction.mark)\"".utf8)
        skipValue()
    }

    // A URL in a text may hold secrets of its own.
    private func redacted(_ literal: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard literal.contains(UInt8(ascii: "?")) || literal.contains(UInt8(ascii: "@")) else {
            return literal
        }
        return Array(redaction.unescapedText(String(decoding: literal, as: UTF8.self)).utf8)[...]
    }

    private func hides(_ literal: ArraySlice<UInt8>) -> Bool {
        // The name as it is meant, escapes resolved.
        let name = try? JSONValue(parsing: Data(literal)).string
        return redaction.hides(key: name ?? String(decoding: literal, as: UTF8.self))
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\\"): position += 2
            case UInt8(ascii: "\""):
                position += 1
                return
            default: position += 1
            }
        }
        position = min(position, bytes.count)
    }

    // Up to the comma or bracket that ends the value, nested ones included.
    private mutating func skipValue() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
            case UInt8(ascii: ","): if depth == 0 { return }
            default: break
            }
            position += 1
        }
    }
}
