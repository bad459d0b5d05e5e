// SPDX-License-Identifier: Apache-2.0

import TurnpikeRedaction
public import TurnpikeSupport

/// The rules for hiding secrets: the names of header fields and query items with secret values.
///
/// Every type of this library prints text by the rules of ``standard``. A log can add names
/// (``adding(headers:query:)``). No code can remove names.
public struct Redaction: Sendable {
    /// The text that replaces a secret.
    public static let mark = SecretRules.mark

    /// The built-in rules.
    ///
    /// Headers: `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`,
    /// `Authentication-Info` and `Proxy-Authentication-Info`; names that contain `token`, `secret`,
    /// `api-key`, `password` or a similar word; names with a word such as `auth` or `jwt`
    /// (`X-Auth`). Query items: the keys that OpenTelemetry lists for `url.full`, and names that
    /// contain the same words. Names that only describe a secret, such as `token_type` or
    /// `password_expires_at`, are not hidden.
    public static let standard = Redaction(rules: SecretRules())

    var rules: SecretRules

    /// Returns the same rules with more names.
    /// - Parameters:
    ///   - headers: Header names in any case; the names are also hidden in queries, JSON and text.
    ///   - query: Query names, in any case; these names are also hidden in JSON and text.
    /// - Returns: Rules that also hide the values of the added names.
    public func adding(headers: [String] = [], query: [String] = []) -> Redaction {
        Redaction(rules: rules.and(SecretRules(headers: headers, query: query)))
    }

    /// Returns rules that hide all that either of two rules hides.
    public func and(_ other: Redaction) -> Redaction { Redaction(rules: rules.and(other.rules)) }

    // MARK: Known secrets

    /// Hides the found secrets of a ``RedactionPass`` everywhere, also if they are escaped.
    public mutating func hide(secretsOf pass: RedactionPass) { rules.known.insert(pass.search) }

    /// A number that grows with each known secret.
    public var secretCount: Int { rules.known.version }

    /// Whether the list of known secrets is full, and later secrets may therefore stay visible.
    public var isFull: Bool { rules.known.isFull }

    /// Whether a text contains a known secret.
    public func hidesSecret(in text: [UInt8]) -> Bool { rules.known.occurs(in: text) }

    // MARK: Names

    /// Whether the value of a header is hidden.
    public func hides(header name: HTTPHeaders.Name) -> Bool {
        rules.hides(header: name.lowercased)
    }

    /// Whether the value of this name is hidden in a query, a form or JSON.
    ///
    /// The name may be escaped several times, as in a URL within a URL.
    public func hides(key: some Collection<UInt8>) -> Bool { rules.hides(key: key) }

    /// Whether the content of an XML element or attribute is hidden, without regard to the prefix.
    ///
    /// Short names are ambiguous; `<Key>` may be a file name, and `<Code>` an error code.
    public func hides(element name: ArraySlice<UInt8>) -> Bool { rules.hides(element: name) }

    /// Whether the value of a name is the name of a sibling: `{"name": "password", "value": …}`.
    public static func namesAnother(_ name: some Sequence<UInt8>) -> Bool {
        SecretNames.namesAnother(name)
    }

    /// Whether a name such as `value` has the value that a sibling names (``namesAnother(_:)``).
    public static func isValueOfAnother(_ name: some Sequence<UInt8>) -> Bool {
        SecretNames.isValueOfAnother(name)
    }

    // MARK: Texts

    /// The value of a header in printable form.
    ///
    /// Every value is searched, because `Refresh` may contain a URL with a password, and any field
    /// may contain a token.
    public func value(of field: HTTPHeaders.Field) -> String {
        rules.value(ofHeader: field.name.lowercased, field.value)
    }

    /// A URL in printable form, without user information, secret items and credentials.
    ///
    /// Items of the query, the fragment and path parameters can be secret.
    public func url(_ url: URL) -> String { self.url(url.absoluteString) }

    /// The text of a URL in printable form; the text need not be a valid URL.
    public func url(_ text: String) -> String { Grammar.escaped(SecretSearch(rules).url(text)) }

    /// Free text in printable form, without secrets in URLs, credentials and assignments, and with
    /// escaped control characters.
    public func text(_ text: String) -> String { Grammar.escaped(unescapedText(text)) }

    func unescapedText(_ text: String) -> String { SecretSearch(rules).text(text) }

    // MARK: Contents

    /// Returns the beginning of some content in printable form.
    ///
    /// JSON and forms are parsed, and plain text, HTML, CSS and scripts are searched. All other
    /// content, and text whose charset does not extend ASCII, such as UTF-16, is replaced by its
    /// size and type. If JSON is broken, the result is the part that could be parsed.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - type: The media type of the bytes.
    ///   - isCut: Whether the content was truncated, and a secret at the end may be incomplete.
    /// - Returns: The text.
    public func content(_ data: Data, type: MediaType?, isCut: Bool = false) -> String {
        if data.isEmpty { return "" }
        guard let type else { return "(\(data.count) bytes)" }
        let search = SecretSearch(rules)
        guard let shown = ShownContent(type)?.redacted(Array(data), isCut: isCut, in: search) else {
            return Grammar.escaped(
                search.text("(\(data.count) bytes of \(type.essence))"), upTo: 200)
        }
        var text = String(decoding: shown, as: UTF8.self)
        if isCut, text.last == "\u{FFFD}" { text.removeLast() }
        return Grammar.escaped(text)
    }

    /// Returns redacted content as bytes without escaping; nil if the content is not JSON, a form
    /// or text, or if it cannot be parsed completely.
    ///
    /// If the type is unknown, the content's bytes decide the kind of content.
    public func shownBytes(_ data: Data, type: MediaType?) -> [UInt8]? {
        let content = Array(data)
        let kind =
            type == nil || type?.essence == MediaType.octetStream.essence
            ? ShownContent(sniffing: content) : type.flatMap { ShownContent($0) }
        let search = SecretSearch(rules)
        let shown = kind?.redacted(content, isCut: false, in: search)
        return search.withheld.isEmpty ? shown : nil
    }
}

extension ShownContent {
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

    // Whether each byte below 128 always means its ASCII character in a charset.
    private static func isOfASCII(_ charset: String) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "windows-125"].contains {
            charset.lowercased().hasPrefix($0)
        }
    }
}
