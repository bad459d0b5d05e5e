public import Foundation

/// What must not be printed: the header fields and query items whose values are secrets.
///
/// ``standard`` is what every type of this library prints with. A log may name more
/// (``adding(headers:query:)``); nothing can name less.
public struct Redaction: Sendable {
    /// What stands in the place of a secret.
    public static let mark = "REDACTED"

    /// The built-in rules.
    ///
    /// Headers: `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, the authentication
    /// answers, every name that holds `token`, `secret`, `api-key`, `password` or the like, and names
    /// with a word such as `auth` or `jwt` (`X-Auth`). Query items: the keys that OpenTelemetry lists
    /// for `url.full`, and names that hold the same words. Names that describe a secret hide nothing:
    /// `token_type`, `password_expires_at`.
    public static let standard = Redaction(headers: [], query: [])

    private let headers: Set<String>
    private let query: Set<String>

    private init(headers: Set<String>, query: Set<String>) {
        self.headers = headers
        self.query = query
    }

    /// The same rules with more names.
    /// - Parameters:
    ///   - headers: Header names, in any case.
    ///   - query: Query names, in any case.
    /// - Returns: Rules that hide all that these hide, and the names.
    public func adding(headers: [String] = [], query: [String] = []) -> Redaction {
        Redaction(
            headers: self.headers.union(headers.map { $0.lowercased() }),
            query: self.query.union(query.map { $0.lowercased() }))
    }

    // MARK: Names

    /// Whether a header's value is hidden.
    public func hides(header name: HTTPHeaders.Name) -> Bool {
        let name = name.lowercased
        return headers.contains(name) || SecretNames.isHeader(name)
    }

    /// Whether a query item's, a form's or a JSON member's value is hidden.
    public func hides(key: String) -> Bool { hides(key: Array(key.utf8)) }

    /// The same of a name as bytes, however often it is escaped: it may stand in a URL that stands in
    /// a URL.
    func hides(key: some Collection<UInt8>) -> Bool {
        if hidesAsSpelled(key) { return true }
        if !key.contains(where: { Self.joiners[$0] != 0 }) { return false }
        var spelling = Array(key)
        for _ in 0..<3 {
            guard let next = Spelling.unescaped(spelling) else { return hidesPart(of: spelling) }
            if hidesPart(of: spelling) || hidesAsSpelled(next) { return true }
            spelling = next
        }
        return hidesPart(of: spelling)
    }

    private func hidesAsSpelled(_ key: some Collection<UInt8>) -> Bool {
        SecretNames.isKeyLike(key) || SecretNames.isShortKey(key) || isAdded(key)
    }

    // `user[pwd]`, `connect.sid`
    private func hidesPart(of key: [UInt8]) -> Bool {
        key.split { "[].".utf8.contains($0) }.contains {
            $0.count < key.count && (SecretNames.isShortKey($0) || isAdded($0))
        }
    }

    // What may join the parts of a name, or stand for a byte of it.
    private static let joiners = ByteTable { byte in
        "[].".utf8.contains(byte) || Spelling.beginsEscape(byte) ? 1 : 0
    }

    private func isAdded(_ key: some Collection<UInt8>) -> Bool {
        !query.isEmpty && query.contains(String(decoding: key, as: UTF8.self).lowercased())
    }

    /// Whether a name before a sign in a text says that the value behind it is a secret.
    ///
    /// In prose short names mean many things: `code=404`.
    func hidesInText(_ name: ArraySlice<UInt8>) -> Bool {
        if SecretNames.isKeyLike(name) || SecretNames.isShortKeyInText(name) { return true }
        return !query.isEmpty && hides(key: name) && !SecretNames.isShortKey(name)
    }

    /// Whether what an element or an attribute of XML holds is hidden; its prefix does not count.
    ///
    /// Short names mean many things there: `<Key>` is a file's name in a list, `<Code>` an error's.
    func hides(element name: ArraySlice<UInt8>) -> Bool {
        let colon = name.lastIndex(of: UInt8(ascii: ":"))
        return hidesInText(colon.map { name[($0 + 1)...] } ?? name)
    }

    /// Whether a text speaks of secrets in any place, so that nobody can tell which values are some
    /// where it cannot be read.
    func speaksOfSecrets(_ text: [UInt8]) -> Bool {
        var spelling: [UInt8]? = text
        for _ in 0..<4 {
            guard let current = spelling else { return false }
            let names = current.split { !SecretScanner.isOfName($0) }
            if names.contains(where: { hides(key: $0) }) { return true }
            spelling = Spelling.unescaped(current)
        }
        return true
    }

    // MARK: Texts

    /// The value of a header as it may be printed.
    ///
    /// Each value is searched: a `Refresh` may hold a URL with a password, any field a token.
    public func value(of field: HTTPHeaders.Field) -> String {
        hides(header: field.name) ? Self.mark : text(field.value)
    }

    /// A URL as it may be printed: user information, secret items of query, fragment and path
    /// parameters, and what looks like a credential are hidden.
    public func url(_ url: URL) -> String { self.url(url.absoluteString) }

    /// A URL as it may be printed, from its text; the text need not be a valid URL.
    public func url(_ text: String) -> String {
        Grammar.escaped(RedactionPass(self).redacted(text, as: .url))
    }

    /// Free text as it may be printed: the URLs, credentials and assignments in it are redacted,
    /// control characters escaped.
    public func text(_ text: String) -> String { Grammar.escaped(unescapedText(text)) }

    /// Free text with its secrets hidden, and nothing escaped.
    package func unescapedText(_ text: String) -> String {
        RedactionPass(self).redacted(text, as: .text)
    }
}
