/// What stands in the head of a message.
extension RedactionPass {
    /// The value of a header field without its secrets, and nothing escaped.
    func header(_ name: HTTPHeaders.Name, _ value: String) -> String {
        if value.isEmpty { return value }
        if redaction.hides(header: name) {
            learn(header: name, value)
            return purpose == .record && name.isCookie ? cookies(name, value) : Redaction.mark
        }
        return leaf(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? value
    }

    /// A URL without its secrets, and nothing escaped.
    func url(_ text: String) -> String { redacted(text, as: .url) }

    // A jar, and a reader, go on working where the names stay.
    private func cookies(_ name: HTTPHeaders.Name, _ line: String) -> String {
        CookieItem.list(line).enumerated().map { index, item in
            let isAttribute = name == .setCookie && index > 0 && item.isAttribute
            // A cookie without a name is its value; so is what a semicolon cuts off from one.
            guard let value = item.value else {
                return isAttribute || item.name.isEmpty ? item.name : Redaction.mark
            }
            if value.isEmpty { return item.name + "=" }
            if !isAttribute { return item.name + "=" + Redaction.mark }
            let shown = leaf(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) }
            return item.name + "=" + (shown ?? value)
        }.joined(separator: "; ")
    }

    private func learn(header name: HTTPHeaders.Name, _ value: String) {
        if name.isCookie {
            for item in CookieItem.list(value).prefix(name == .setCookie ? 1 : .max) {
                let isNamed = redaction.hides(key: item.name)
                learn((item.value ?? item.name).utf8, isNamed: isNamed)
            }
            return
        }
        learnCredential(value)
        for part in value.utf8.split(whereSeparator: { ",;\" ".utf8.contains($0) }) {
            let inner = part.drop { $0 != UInt8(ascii: "=") }.dropFirst()
            learn(inner.count < 6 ? part : inner, isNamed: false)
        }
    }

    // Behind a scheme, or the whole value.
    private func learnCredential(_ value: String) {
        let words = value.utf8.split(separator: 0x20, maxSplits: 1).map(Array.init)
        guard words.count == 2, SecretScanner.isScheme(words[0]) else {
            return learn(value.utf8, isNamed: true)
        }
        learn(words[1], isNamed: true)
        if let pair = Base64.decode(words[1]), let colon = pair.firstIndex(of: UInt8(ascii: ":")) {
            learn(pair, isNamed: true)
            learn(pair[(colon + 1)...], isNamed: true)
        }
    }
}

/// A name and a value of a `Cookie` or `Set-Cookie` line.
package struct CookieItem {
    /// The name; where there is no equals sign, the text.
    package let name: String
    /// The value; nil where there is no equals sign.
    package let value: String?

    /// Whether the name is that of an attribute (RFC 6265 §4.1.1, and what browsers have added).
    var isAttribute: Bool { Self.attributes.contains(name.utf8) }

    private static let attributes = WordSet(
        "expires max-age domain path secure httponly samesite partitioned priority")

    /// The items of a line; in a `Set-Cookie` line the attributes come behind the first one.
    package static func list(_ line: String) -> [CookieItem] {
        line.unicodeScalars.split(separator: ";").map { piece in
            let parts = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Grammar.trimmed(Substring($0))) }
            return CookieItem(name: parts[0], value: parts.count > 1 ? parts[1] : nil)
        }
    }
}

extension HTTPHeaders.Name {
    fileprivate var isCookie: Bool { self == .cookie || self == .setCookie }
}
