// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The rules for hiding secrets: the names with secret values, and known secrets.
package struct SecretRules: Sendable {
    /// The text that replaces a secret.
    package static let mark = "REDACTED"

    private var headers: Set<String>
    // The names of header fields belong to values in queries, JSON and text too.
    private var keys: Set<String>
    package var known = SecretIndex()

    /// Creates the built-in rules with more names, in any case.
    package init(headers: [String] = [], query: [String] = []) {
        self.headers = Set(headers.map { $0.lowercased() })
        keys = self.headers.union(query.map { $0.lowercased() })
    }

    /// Returns rules that hide all that either of two rules hides.
    package func and(_ other: SecretRules) -> SecretRules {
        var rules = self
        rules.headers.formUnion(other.headers)
        rules.keys.formUnion(other.keys)
        rules.known.formUnion(other.known)
        return rules
    }

    // MARK: Names

    /// Whether the value of a header is hidden; the name is in lower case.
    package func hides(header name: String) -> Bool {
        headers.contains(name) || SecretNames.isHeader(name)
    }

    /// Whether the value of this name is hidden in a query, a form or JSON.
    ///
    /// The name may be escaped several times, as in a URL within a URL.
    package func hides(key: some Collection<UInt8>) -> Bool {
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
        SecretNames.isKeyLike(key) || isSecretWord(key)
    }

    private func isSecretWord(_ key: some Collection<UInt8>) -> Bool {
        SecretNames.isShortKey(key) || SecretNames.isFieldName(key) || isAdded(key)
    }

    // Whether a part of a name is secret: `user[pwd]`, `connect.sid`.
    private func hidesPart(of key: [UInt8]) -> Bool {
        key.split { "[].".utf8.contains($0) }.contains {
            $0.count < key.count && isSecretWord($0)
        }
    }

    private static let joiners = ByteTable { byte in
        "[].".utf8.contains(byte) || EscapeDecoder.beginsEscape(byte) ? 1 : 0
    }

    func isAdded(_ key: some Collection<UInt8>) -> Bool {
        !keys.isEmpty && keys.contains(String(decoding: key, as: UTF8.self).lowercased())
    }

    /// Whether `name: value` in free text has a secret value; `code=404` has no secret value.
    func hidesInText(_ name: ArraySlice<UInt8>) -> Bool {
        if SecretNames.isKeyLike(name) || SecretNames.isShortKeyInText(name) { return true }
        return !keys.isEmpty && hides(key: name) && !SecretNames.isShortKey(name)
            && (isAdded(name) || !SecretNames.isFieldName(name))
    }

    /// Whether the content of an XML element or attribute is hidden; a prefix is ignored.
    ///
    /// Short names are ambiguous: `<Key>` may be a file name in a listing, `<Code>` an error code.
    package func hides(element name: ArraySlice<UInt8>) -> Bool {
        let colon = name.lastIndex(of: UInt8(ascii: ":"))
        return hidesInText(colon.map { name[($0 + 1)...] } ?? name)
    }

    /// Whether a text mentions a secret name; a text with such a name is hidden if parsing fails.
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

    /// Returns the value of a header in printable form; the name is in lower case.
    package func value(ofHeader name: String, _ value: String) -> String {
        if hides(header: name) { return Self.mark }
        let search = SecretSearch(self)
        let isList = name == SecretSearch.webSocketProtocol
        return Grammar.escaped(isList ? search.header(name, value) : search.text(value))
    }
}
