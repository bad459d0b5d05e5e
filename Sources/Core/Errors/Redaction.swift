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
        // Twice, since a key may stand in a URL that stands in a URL.
        var key = key
        for _ in 0..<2 where key.utf8.contains(UInt8(ascii: "%")) {
            key = key.removingPercentEncoding ?? key
        }
        key = key.lowercased()
        if Self.secretKeys.contains(key) || query.contains(key) || Self.isKeyLike(key) {
            return true
        }
        guard key.utf8.contains(UInt8(ascii: "[")) else { return false }
        return key.unicodeScalars.split { $0 == "[" || $0 == "]" }.contains { part in
            let part = String(Substring(part))
            return Self.secretKeys.contains(part) || query.contains(part)
        }
    }

    /// The value of a header as it may be printed.
    public func value(of field: HTTPHeaders.Field) -> String {
        if hides(header: field.name) { return Self.mark }
        switch field.name {
        case .location, .contentLocation, .referer, .link: return text(Grammar.escaped(field.value))
        default: return Grammar.escaped(field.value)
        }
    }

    /// A URL as it may be printed: user information, secret items of query, fragment and path
    /// parameters, and what looks like a credential are hidden.
    public func url(_ url: URL) -> String { self.url(url.absoluteString) }

    /// A URL as it may be printed, from its text; the text need not be a valid URL.
    public func url(_ text: String) -> String { urlText(Grammar.escaped(text), depth: 0) }

    /// Free text as it may be printed: the URLs, credentials and assignments in it are redacted,
    /// control characters escaped.
    public func text(_ text: String) -> String { Grammar.escaped(unescapedText(text)) }

    private static let secretHeaders: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2",
        "authentication-info", "proxy-authentication-info", "x-csrf", "x-xsrf",
    ]

    private static let secretKeys: Set<String> = [
        "sig", "signature", "code", "auth", "key", "pwd", "pass", "jwt", "sid", "session",
        "awsaccesskeyid", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
        "x-goog-signature", "x-goog-credential", "assertion", "id_token_hint",
    ]

    package static func isKeyLike(_ name: String) -> Bool {
        let bytes = name.utf8.filter { !separators.contains($0) }
        // Byte by byte: this runs for each segment of each URL that is logged.
        return bytes.indices.contains { start in
            words.contains { $0[0] == bytes[start] && bytes[start...].starts(with: $0) }
        }
    }

    private static let separators = Array("-_.+ ".utf8)

    private static let words = [
        "token", "secret", "apikey", "accesskey", "privatekey", "password", "passwd", "passphrase",
        "credential", "signature", "sessionid", "authkey", "authorization", "subscriptionkey",
        "functionskey", "applicationkey", "masterkey", "encryptionkey", "customerkey", "signingkey",
        "accountkey",
    ].map { Array($0.utf8) }
}
