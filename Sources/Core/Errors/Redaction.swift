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
    /// answers, and every name that holds `token`, `secret`, `api-key`, `password` or the like.
    /// Query items: the keys that OpenTelemetry lists for `url.full`, and names that hold the same
    /// words.
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

    /// Whether a header's value is hidden.
    public func hides(header name: HTTPHeaders.Name) -> Bool {
        let name = name.lowercased
        return Self.secretHeaders.contains(name) || headers.contains(name) || Self.isKeyLike(name)
    }

    /// Whether a query item's, a form's or a JSON member's value is hidden.
    public func hides(key: String) -> Bool {
        let key = (key.removingPercentEncoding ?? key).lowercased()
        return Self.secretKeys.contains(key) || query.contains(key) || Self.isKeyLike(key)
    }

    /// The value of a header as it may be printed.
    public func value(of field: HTTPHeaders.Field) -> String {
        if hides(header: field.name) { return Self.mark }
        switch field.name {
        case .location, .contentLocation, .referer, .link: return text(Grammar.escaped(field.value))
        default: return Grammar.escaped(field.value)
        }
    }

    /// A URL as it may be printed: user information, secret query items and fragments are hidden.
    public func url(_ url: URL) -> String { self.url(url.absoluteString) }

    /// A URL as it may be printed, from its text; the text need not be a valid URL.
    public func url(_ text: String) -> String { unescapedURL(Grammar.escaped(text)) }

    private func unescapedURL(_ text: String) -> String {
        var text = text
        var fragment = ""
        if let hash = text.firstIndex(of: "#") {
            fragment = "#" + items(String(text[text.index(after: hash)...]))
            text = String(text[..<hash])
        }
        var query = ""
        if let mark = text.firstIndex(of: "?") {
            query = "?" + items(String(text[text.index(after: mark)...]))
            text = String(text[..<mark])
        }
        return withoutUserInformation(text) + query + fragment
    }

    /// Free text as it may be printed: the URLs in it are redacted, control characters escaped.
    public func text(_ text: String) -> String { Grammar.escaped(unescapedText(text)) }

    /// The text with the URLs in it redacted, and nothing escaped.
    func unescapedText(_ text: String) -> String {
        guard text.contains("://") || text.contains("?") else { return text }
        var result = ""
        var rest = text[...]
        while !rest.isEmpty {
            let piece = rest.prefix { !$0.isWhitespace }
            let isURL = piece.contains("://") || piece.contains("?")
            result += isURL ? unescapedURL(String(piece)) : String(piece)
            rest = rest[piece.endIndex...]
            let blanks = rest.prefix { $0.isWhitespace }
            result += blanks
            rest = rest[blanks.endIndex...]
        }
        return result
    }

    private func withoutUserInformation(_ text: String) -> String {
        let start: String.Index
        guard let slashes = text.range(of: "//") else {
            return text
        }
        start = slashes.upperBound
        let authority = text[start...].prefix { $0 != "/" && $0 != "\\" }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<start] + Self.mark + text[at...]
    }

    private func items(_ query: String) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: "="), hides(key: String(item[..<equals])) else {
                return String(item)
            }
            return item[...equals] + Self.mark
        }.joined(separator: "&")
    }

    private static let secretHeaders: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2",
        "authentication-info", "proxy-authentication-info", "x-csrf", "x-xsrf",
    ]

    private static let secretKeys: Set<String> = [
        "sig", "signature", "code", "auth", "key", "pwd", "pass", "jwt", "sid", "session",
        "awsaccesskeyid", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
        "x-goog-signature", "x-goog-credential", "assertion", "id_token_hint",
    ]

    private static func isKeyLike(_ name: String) -> Bool {
        let name = name.filter { $0 != "-" && $0 != "_" && $0 != "." }
        return words.contains { name.contains($0) }
    }

    private static let words = [
        "token", "secret", "apikey", "accesskey", "privatekey", "password", "passwd", "passphrase",
        "credential", "signature", "sessionid", "authkey", "authorization",
    ]
}
