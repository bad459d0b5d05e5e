// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension RedactionPass {
    /// Returns the value of a header field without secrets; the names of cookies remain.
    public func header(_ name: HTTPHeaders.Name, _ value: String) -> String {
        if value.isEmpty { return value }
        if redaction.hides(header: name) {
            learn(header: name, value)
            return purpose == .record && name.isCookie ? cookies(name, value) : Redaction.mark
        }
        if name == .webSocketProtocol { return subprotocols(value) }
        return self.value(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? value
    }

    // Clients put tokens among the names of subprotocols, because browsers cannot set other fields
    // of a WebSocket handshake: `graphql-ws, bearer, TOKEN`, `bearer.TOKEN`.
    private func subprotocols(_ line: String) -> String {
        var isNext = false
        let items = line.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        return items.map { item -> String in
            let blanks = item.prefix(while: Grammar.isBlank)
            let name = Array(item[blanks.endIndex...])
            if name.isEmpty { return String(decoding: item, as: UTF8.self) }
            let parts = name.split { !Grammar.isAlphanumeric($0) && $0 != UInt8(ascii: "_") }
            let mark = parts.first { SecretScanner.isScheme($0) || redaction.hides(key: $0) }
            let start =
                isNext
                ? 0 : mark.map { min($0.endIndex + 1, name.count) } ?? Self.startOfMade(parts)
            isNext = mark != nil && mark?.endIndex == name.count
            let shown =
                start.map { start in
                    start < name.count ? name[..<start] + hide(name[start...]) : name[...]
                } ?? (value(name) ?? name)[...]
            return String(decoding: blanks, as: UTF8.self) + String(decoding: shown, as: UTF8.self)
        }.joined(separator: ",")
    }

    private static func startOfMade(_ parts: [ArraySlice<UInt8>]) -> Int? {
        parts.first { $0.count >= 16 && $0.contains(where: Grammar.isDigit) }?.startIndex
    }

    /// Returns a URL without secrets; the text need not be a valid URL.
    public func url(_ text: String) -> String { redacted(text, as: .url) }

    private func cookies(_ name: HTTPHeaders.Name, _ line: String) -> String {
        CookieItem.list(line).enumerated().map { index, item in
            let isAttribute = name == .setCookie && index > 0 && item.isAttribute
            // Text without an equals sign is a value, or the rest of a value with a semicolon.
            guard let value = item.value else {
                return isAttribute || item.name.isEmpty ? item.name : Redaction.mark
            }
            if value.isEmpty { return item.name + "=" }
            if !isAttribute { return item.name + "=" + Redaction.mark }
            let shown = self.value(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) }
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

extension HTTPHeaders.Name {
    fileprivate var isCookie: Bool { self == .cookie || self == .setCookie }

    /// The names of subprotocols in a WebSocket handshake (RFC 6455 §11.3.4).
    static var webSocketProtocol: Self { "Sec-WebSocket-Protocol" }
}

extension CookieItem {
    /// Whether this is a cookie attribute (RFC 6265 §4.1.1, and newer attributes of browsers).
    fileprivate var isAttribute: Bool { Self.attributes.contains(name.utf8) }

    private static let attributes = WordSet(
        "expires max-age domain path secure httponly samesite partitioned priority")
}
