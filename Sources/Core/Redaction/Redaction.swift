// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The rules for hiding secrets: the names of header fields and query items with secret values.
///
/// Every type of this library prints text by the rules of ``standard``. A log can add names
/// (``adding(headers:query:)``). No code can remove names.
public struct Redaction: Sendable {
    /// The text that replaces a secret.
    public static let mark = "REDACTED"

    /// The built-in rules.
    ///
    /// The rules hide the header fields `Authorization`, `Proxy-Authorization`, `Cookie`,
    /// `Set-Cookie`, `Authentication-Info` and `Proxy-Authentication-Info`. The rules also hide
    /// fields whose names contain `token`, `secret`, `api-key`, `password` or a similar word, or a
    /// word such as `auth` or `jwt` (`X-Auth`). The rules hide query items with the keys that
    /// OpenTelemetry lists for `url.full`, or with names that contain the same words. Names that
    /// only describe a secret, such as `token_type` or `password_expires_at`, are not hidden.
    public static let standard = Redaction(headers: [], query: [])

    private var headers: Set<String>
    private var query: Set<String>
    private(set) var known = SecretIndex()

    /// Returns the same rules with more names.
    /// - Parameters:
    ///   - headers: Header names, in any case.
    ///   - query: Query names, in any case.
    /// - Returns: Rules that also hide the values of the added names.
    public func adding(headers: [String] = [], query: [String] = []) -> Redaction {
        var rules = self
        rules.headers.formUnion(headers.map { $0.lowercased() })
        rules.query.formUnion(query.map { $0.lowercased() })
        return rules
    }

    /// Returns rules that hide everything that one of two rules hides.
    public func and(_ other: Redaction) -> Redaction {
        var rules = self
        rules.headers.formUnion(other.headers)
        rules.query.formUnion(other.query)
        rules.known.formUnion(other.known)
        return rules
    }

    // MARK: Known secrets

    /// Hides the secrets that a ``RedactionPass`` has found, everywhere and with any escapes.
    public mutating func hide(secretsOf pass: RedactionPass) { known.insert(pass) }

    /// Returns rules that also hide the secrets of messages in all texts, because a server may
    /// repeat a token in a header field or in an error.
    /// - Parameters:
    ///   - requests: The requests, whose content in memory is searched up to 64 KiB.
    ///   - sections: The header sections of responses.
    /// - Returns: The rules.
    public func hiding(secretsOf requests: [Request], _ sections: [HTTPHeaders]) -> Redaction {
        var rules = self
        rules.known = CarriedSecrets(of: requests, sections, by: self).index
        return rules
    }

    /// A number that increases with each known secret.
    public var secretCount: Int { known.version }

    /// Whether the list of known secrets is full, in which case later secrets may stay visible.
    public var isFull: Bool { known.isFull }

    /// Whether a text contains a known secret.
    public func hidesSecret(in text: [UInt8]) -> Bool { known.occurs(in: text) }

    // MARK: Names

    /// Whether the value of a header is hidden.
    public func hides(header name: HTTPHeaders.Name) -> Bool {
        let name = name.lowercased
        return headers.contains(name) || SecretNames.isHeader(name)
    }

    func hides(key: String) -> Bool { hides(key: Array(key.utf8)) }

    /// Whether the value of this name is hidden in a query, a form or JSON.
    ///
    /// The name may be escaped several times, as in a URL within a URL.
    public func hides(key: some Collection<UInt8>) -> Bool {
        if hidesAsSpelled(key) { return true }
        if !key.contains(where: { Self.joiners[$0] != 0 }) { return false }
        var spelling = Array(key)
        for _ in 0..<3 {
            guard let next = EscapeDecoder.unescaped(spelling) else {
                return hidesPart(of: spelling)
            }
            if hidesPart(of: spelling) || hidesAsSpelled(next) { return true }
            spelling = next
        }
        return hidesPart(of: spelling)
    }

    private func hidesAsSpelled(_ key: some Collection<UInt8>) -> Bool {
        SecretNames.isKeyLike(key) || SecretNames.isShortKey(key) || isAdded(key)
    }

    // Whether a part of a name is secret: `user[pwd]`, `connect.sid`.
    private func hidesPart(of key: [UInt8]) -> Bool {
        key.split { "[].".utf8.contains($0) }.contains {
            $0.count < key.count && (SecretNames.isShortKey($0) || isAdded($0))
        }
    }

    private static let joiners = ByteTable { byte in
        "[].".utf8.contains(byte) || EscapeDecoder.beginsEscape(byte) ? 1 : 0
    }

    private func isAdded(_ key: some Collection<UInt8>) -> Bool {
        !query.isEmpty && query.contains(String(decoding: key, as: UTF8.self).lowercased())
    }

    /// Whether `name: value` in free text has a secret value; for example, `code=404` has none.
    func hidesInText(_ name: ArraySlice<UInt8>) -> Bool {
        if SecretNames.isKeyLike(name) || SecretNames.isShortKeyInText(name) { return true }
        return !query.isEmpty && hides(key: name) && !SecretNames.isShortKey(name)
    }

    /// Whether the content of an XML element or attribute is hidden, without regard to the prefix.
    ///
    /// Short names are ambiguous: `<Key>` may be a file name in a listing, and `<Code>` may be an
    /// error code.
    public func hides(element name: ArraySlice<UInt8>) -> Bool {
        let colon = name.lastIndex(of: UInt8(ascii: ":"))
        return hidesInText(colon.map { name[($0 + 1)...] } ?? name)
    }

    /// Whether the value of a name is the name of a sibling: `{"name": "password", "value": …}`.
    public static func namesAnother(_ name: some Sequence<UInt8>) -> Bool {
        SecretNames.namesAnother(name)
    }

    /// Whether a name such as `value` has the value that a sibling names (``namesAnother(_:)``).
    public static func isValueOfAnother(_ name: some Sequence<UInt8>) -> Bool {
        SecretNames.isValueOfAnother(name)
    }

    /// Whether a text contains a secret name, and must be hidden if it cannot be parsed.
    func speaksOfSecrets(_ text: [UInt8]) -> Bool {
        var spelling: [UInt8]? = text
        for _ in 0..<4 {
            guard let current = spelling else { return false }
            let names = current.split { !SecretScanner.isOfName($0) }
            if names.contains(where: { hides(key: $0) }) { return true }
            spelling = EscapeDecoder.unescaped(current)
        }
        return true
    }

    // MARK: Texts

    /// The value of a header in printable form.
    ///
    /// Every value is searched, because `Refresh` may contain a URL with a password, and any field
    /// may contain a token.
    public func value(of field: HTTPHeaders.Field) -> String {
        if hides(header: field.name) { return Self.mark }
        guard field.name == .webSocketProtocol else { return text(field.value) }
        return Grammar.escaped(RedactionPass(self).header(field.name, field.value))
    }

    /// A URL in printable form, without user information, secret items and credentials.
    ///
    /// Items of the query, the fragment and path parameters can be secret.
    public func url(_ url: URL) -> String { self.url(url.absoluteString) }

    /// The text of a URL in printable form, which need not be a valid URL.
    public func url(_ text: String) -> String {
        Grammar.escaped(RedactionPass(self).redacted(text, as: .url))
    }

    /// Free text in printable form, without secrets in URLs, credentials and assignments, and with
    /// escaped control characters.
    public func text(_ text: String) -> String { Grammar.escaped(unescapedText(text)) }

    func unescapedText(_ text: String) -> String {
        RedactionPass(self).redacted(text, as: .text)
    }
}
