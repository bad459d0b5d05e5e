// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One search for secrets in texts that belong together, such as the texts of one message.
package final class SecretSearch {
    package enum Purpose: Sendable {
        /// For people: a hidden value of any kind becomes one word.
        case display
        /// For programs: hidden values keep their kinds; unparsable content is withheld.
        case record
    }

    /// Returns XML without its secrets; the second argument states whether the XML was truncated.
    package typealias XMLRedactor = ([UInt8], Bool, SecretSearch) throws(ContentFault) -> [UInt8]

    package let rules: SecretRules
    let purpose: Purpose
    let xml: XMLRedactor?
    var found: [([UInt8], SecretIndex.Reach)] = []
    /// The placeholders of the contents that could not be parsed.
    package private(set) var withheld: [String] = []
    /// The number of inspected bytes in all searches of this object.
    var work = 0
    package var depth = 0

    package static let maxDepth = 6

    package init(_ rules: SecretRules, _ purpose: Purpose = .display, xml: XMLRedactor? = nil) {
        self.rules = rules
        self.purpose = purpose
        self.xml = xml
    }

    static let mark = Array(SecretRules.mark.utf8)

    // MARK: Secrets

    /// Records a value that looks like a secret or, if `isNamed`, is not a common word.
    package func learn(_ value: some Collection<UInt8>, isNamed: Bool) {
        guard let reach = Self.reach(of: value, isNamed: isNamed) else { return }
        found.append((Array(value), reach))
    }

    // Short or human-written values occur everywhere; hiding them would spoil a recording.
    private static func reach(
        of value: some Collection<UInt8>, isNamed: Bool
    ) -> SecretIndex.Reach? {
        let count = value.count
        guard count >= SecretIndex.minBytes, Array(value).firstRange(of: mark) == nil,
            !NaturalTextHeuristic.isSentence(value)
        else { return nil }
        let isNumber = value.allSatisfy(Grammar.isDigit)
        if TokenHeuristic.isMade(value) { return isNumber ? .words : .anywhere }
        if !isNamed || isNumber || NaturalTextHeuristic.isCommon(value) { return nil }
        if count >= 8 { return .anywhere }
        return count >= 6 || value.contains(where: Grammar.isDigit) ? .words : nil
    }

    /// Returns the mark that replaces a value with a secret name, and records the value.
    package func hide(_ value: some Collection<UInt8>) -> [UInt8] {
        learn(value, isNamed: true)
        return Self.mark
    }

    /// Returns a placeholder with the kind, length and hash of content that cannot be searched.
    package func withhold(
        _ content: some Collection<UInt8>, as name: String, _ reason: String
    ) -> [UInt8] {
        work += content.count
        let digest = SHA256.digest(of: Data(content)).prefix(8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
        let placeholder =
            "(withheld: \(name) of \(content.count) bytes, SHA-256 \(digest): \(reason))"
        withheld.append(placeholder)
        return Array(placeholder.utf8)
    }

    // MARK: Texts

    /// Returns free text without its secrets.
    package func text(_ text: String) -> String { redacted(text, as: .text) }

    /// Returns a URL without its secrets; the text need not be a valid URL.
    package func url(_ text: String) -> String { redacted(text, as: .url) }

    private func redacted(_ text: String, as shape: SecretScanner.Shape) -> String {
        SecretScanner.redacted(Array(text.utf8), as: shape, in: self).map {
            String(decoding: $0, as: UTF8.self)
        } ?? text
    }

    /// Returns a value of content without its secrets, or nil if the value has no secrets.
    package func value(_ text: [UInt8], isCut: Bool = false) -> [UInt8]? {
        if text.isEmpty { return nil }
        depth += 1
        defer { depth -= 1 }
        if let kind = NestedKind(sniffing: text) {
            if depth > Self.maxDepth { return Self.mark }
            return nested(kind, text, isCut)
        }
        if let shown = base64(text, isCut) { return shown }
        return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
    }

    /// Returns bytes without known secrets and known credentials, or nil without a secret.
    package func bytes(_ bytes: [UInt8], isText: Bool = false, isCut: Bool = false) -> [UInt8]? {
        SecretScanner.redactedBinary(bytes, isText: isText, isCut: isCut, in: self)
    }

    // MARK: Contents

    package func json(_ text: [UInt8], isCut: Bool = false) throws(ContentFault) -> [UInt8] {
        try JSONRedactor.redacted(text, isCut: isCut, in: self)
    }

    package func form(_ text: [UInt8], isCut: Bool = false) -> [UInt8] {
        var shown: [UInt8] = []
        shown.reserveCapacity(text.count)
        for item in text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if item.startIndex > 0 { shown.append(UInt8(ascii: "&")) }
            shown += formItem(item, isCut: isCut && item.endIndex == text.count)
        }
        return shown
    }

    private func formItem(_ item: ArraySlice<UInt8>, isCut: Bool) -> [UInt8] {
        guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else {
            return value(Self.decoded(item), isCut: isCut) == nil ? Array(item) : Self.mark
        }
        let text = Self.decoded(item[(equals + 1)...])
        let name = item[..<equals]
        let shownName = value(Self.decoded(name)) == nil ? Array(name) : Self.mark
        // The text may be a URL, whose path precedes the first name of its query.
        let key = name.lastIndex { "?#".utf8.contains($0) }.map { name[($0 + 1)...] } ?? name
        if rules.hides(key: key), !text.isEmpty {
            return shownName + [item[equals]] + hide(text)
        }
        let shown = value(text, isCut: isCut)
        return shownName + [item[equals]]
            + (shown == nil ? item[(equals + 1)...] : Self.mark[...])
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard spaced.contains(UInt8(ascii: "%")) else { return spaced }
        return EscapeDecoder.unescaped(spaced) ?? spaced
    }
}

extension SecretSearch {
    /// Returns the value of a header field without its secrets; the name is in lower case.
    ///
    /// In a record, cookies keep their names.
    package func header(_ name: String, _ value: String) -> String {
        if value.isEmpty { return value }
        if rules.hides(header: name) {
            learn(header: name, value)
            return purpose == .record && isCookie(name) ? cookies(name, value) : SecretRules.mark
        }
        if name == Self.webSocketProtocol { return subprotocols(value) }
        return self.value(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? value
    }

    /// The names of subprotocols in a WebSocket handshake (RFC 6455 §11.3.4).
    static let webSocketProtocol = "sec-websocket-protocol"

    private func isCookie(_ name: String) -> Bool { name == "cookie" || name == "set-cookie" }

    // Browsers cannot set other fields of a WebSocket handshake, and clients therefore put tokens
    // among the names of subprotocols: `graphql-ws, bearer, TOKEN`, `bearer.TOKEN`.
    private func subprotocols(_ line: String) -> String {
        var isNext = false
        let items = line.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        return items.map { item -> String in
            let blanks = item.prefix(while: Grammar.isBlank)
            let name = Array(item[blanks.endIndex...])
            if name.isEmpty { return String(decoding: item, as: UTF8.self) }
            let parts = name.split { !Grammar.isAlphanumeric($0) && $0 != UInt8(ascii: "_") }
            let mark = parts.first { SecretScanner.isScheme($0) || rules.hides(key: $0) }
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

    // Returns the start of the first part that is not the name of a protocol.
    private static func startOfMade(_ parts: [ArraySlice<UInt8>]) -> Int? {
        parts.first { $0.count >= 16 && $0.contains(where: Grammar.isDigit) }?.startIndex
    }

    private func cookies(_ name: String, _ line: String) -> String {
        CookieItem.list(line).enumerated().map { index, item in
            let isAttribute = name == "set-cookie" && index > 0 && item.isAttribute
            // Text without an equals sign is a value, or the rest of a value with a semicolon.
            guard let value = item.value else {
                return isAttribute || item.name.isEmpty ? item.name : SecretRules.mark
            }
            if value.isEmpty { return item.name + "=" }
            if !isAttribute { return item.name + "=" + SecretRules.mark }
            let shown = self.value(Array(value.utf8)).map { String(decoding: $0, as: UTF8.self) }
            return item.name + "=" + (shown ?? value)
        }.joined(separator: "; ")
    }

    private func learn(header name: String, _ value: String) {
        if isCookie(name) {
            for item in CookieItem.list(value).prefix(name == "set-cookie" ? 1 : .max) {
                let isNamed = rules.hides(key: item.name.utf8)
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

    // Learns the credential after the scheme, or the whole value if there is no scheme.
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

extension CookieItem {
    /// Whether this is a cookie attribute (RFC 6265 §4.1.1, and newer attributes of browsers).
    fileprivate var isAttribute: Bool { Self.attributes.contains(name.utf8) }

    private static let attributes = WordSet(
        "expires max-age domain path secure httponly samesite partitioned priority")
}

/// The reason why content cannot be parsed.
package struct ContentFault: Error {
    package let message: String

    package init(_ message: String) { self.message = message }
}
