// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension Redaction {
    /// Returns the beginning of message content in printable form.
    ///
    /// JSON and forms are parsed, and plain text, HTML, CSS and scripts are searched for secrets.
    /// For all other content, and for text whose charset does not extend ASCII, such as UTF-16, the
    /// result contains only the size and type. For invalid JSON, the result contains the part that
    /// could be parsed.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - type: The media type of the bytes.
    ///   - isCut: Whether the content was truncated, perhaps within a secret.
    /// - Returns: The text.
    public func content(_ data: Data, type: MediaType?, isCut: Bool = false) -> String {
        content(data, type: type, isCut: isCut, known: known)
    }

    func content(_ data: Data, type: MediaType?, isCut: Bool, known: SecretIndex) -> String {
        if data.isEmpty { return "" }
        guard let type else { return "(\(data.count) bytes)" }
        let pass = RedactionPass(self, .display, known: known)
        guard let shown = ShownContent(type)?.redacted(Array(data), isCut: isCut, in: pass) else {
            return Grammar.escaped(
                pass.redacted("(\(data.count) bytes of \(type.essence))", as: .text), upTo: 200)
        }
        var text = String(decoding: shown, as: UTF8.self)
        if isCut, text.last == "\u{FFFD}" { text.removeLast() }
        return Grammar.escaped(text)
    }

    /// Returns content without secrets and without escaping, or nil if the content is not JSON, a
    /// form or text, or if the content cannot be parsed completely.
    ///
    /// If the type is unknown, the bytes of the content decide the kind of content.
    public func shownBytes(_ data: Data, type: MediaType?) -> [UInt8]? {
        let content = Array(data)
        let kind =
            type == nil || type?.essence == MediaType.octetStream.essence
            ? ShownContent(sniffing: content) : type.flatMap { ShownContent($0) }
        let pass = RedactionPass(self, .display)
        let shown = kind?.redacted(content, isCut: false, in: pass)
        return pass.withheld.isEmpty ? shown : nil
    }
}

enum ShownContent {
    case json
    case form
    case text

    init?(_ type: MediaType) {
        guard type[parameter: "charset"].map(Self.isOfASCII) != false else { return nil }
        switch (type.type, type.subtype) {
        case ("application", "x-www-form-urlencoded"): self = .form
        case (_, "json"): self = .json
        case (_, let subtype)
        where type.suffix == "json"
            || ["ndjson", "jsonl", "json-lines", "json-seq"].contains(where: subtype.contains):
            self = .json
        case ("text", "plain"), ("text", "html"), ("text", "css"), ("text", "markdown"),
            (_, "javascript"):
            self = .text
        default: return nil
        }
    }

    init?(sniffing content: [UInt8], isCut: Bool = false) {
        var whole = content[...]
        while isCut, let last = whole.last, last >= 0x80 { whole.removeLast() }
        guard String(validating: whole, as: UTF8.self) != nil else { return nil }
        let isForm =
            content.contains(UInt8(ascii: "="))
            && content.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x3C }
        self = isForm ? .form : .text
    }

    // Whether each byte below 128 always means an ASCII character in a charset.
    private static func isOfASCII(_ charset: String) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "windows-125"].contains {
            charset.lowercased().hasPrefix($0)
        }
    }

    func redacted(_ content: [UInt8], isCut: Bool, in pass: RedactionPass) -> [UInt8]? {
        guard let shown = read(content, isCut: isCut, in: pass) else { return nil }
        // After the values, the names and the text between the values are searched.
        return self == .text ? shown : pass.bytes(shown, isText: true, isCut: isCut) ?? shown
    }

    func read(_ content: [UInt8], isCut: Bool, in pass: RedactionPass) -> [UInt8]? {
        if Self.isWide(content) { return nil }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = content.starts(with: mark) ? Array(content.dropFirst(mark.count)) : content
        pass.depth += 1
        defer { pass.depth -= 1 }
        switch self {
        case .json:
            do throws(ClientError) {
                return try pass.json(text, isCut: isCut)
            } catch {
                return pass.withhold(text, as: "JSON", error.message)
            }
        case .form: return pass.form(text, isCut: isCut)
        case .text: return pass.value(text, isCut: isCut) ?? text
        }
    }

    // UTF-16 and UTF-32 text has a byte order mark, or zero bytes.
    private static func isWide(_ content: [UInt8]) -> Bool {
        content.starts(with: [0xFF, 0xFE]) || content.starts(with: [0xFE, 0xFF])
            || content.prefix(4).contains(0)
            || content.count(where: { $0 == 0 }) > content.count / 4
    }
}
