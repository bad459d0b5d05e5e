import Foundation

extension Redaction {
    /// A URL without its secrets, and nothing escaped.
    /// - Parameters:
    ///   - text: The URL, or what stands in the place of one.
    ///   - depth: In how many URLs or JSON texts it stands itself.
    /// - Returns: The text.
    func urlText(_ text: String, depth: Int) -> String {
        var text = text.unicodeScalars[...]
        var fragment = ""
        if let hash = text.firstIndex(of: "#") {
            // The fragment of an application in a browser has a path and a query of its own.
            fragment = text[text.index(after: hash)...].split(
                separator: "?", omittingEmptySubsequences: false
            ).map { items(Substring($0), depth: depth) }.joined(separator: "?")
            fragment = "#" + fragment
            text = text[..<hash]
        }
        var query = ""
        if let mark = text.firstIndex(of: "?") {
            query = "?" + items(Substring(text[text.index(after: mark)...]), depth: depth)
            text = text[..<mark]
        }
        return hierarchy(Substring(text), depth: depth) + query + fragment
    }

    // Scheme, authority and path, perhaps several in a row.
    private func hierarchy(_ text: Substring, depth: Int) -> String {
        var shown = ""
        var rest = text
        while let slashes = Self.slashes(in: rest) {
            shown += path(rest[..<slashes.lowerBound], depth: depth) + "//"
            let authority = rest.unicodeScalars[slashes.upperBound...].prefix {
                $0 != "/" && $0 != "\\"
            }
            if let at = authority.lastIndex(of: "@") {
                shown += Self.mark + Substring(authority[at...])
            } else {
                shown += Substring(authority)
            }
            rest = rest[authority.endIndex...]
        }
        return shown + path(rest, depth: depth)
    }

    private static func slashes(in text: Substring) -> Range<String.Index>? {
        var start = text.startIndex
        while let first = text.utf8[start...].firstIndex(of: UInt8(ascii: "/")) {
            start = text.utf8.index(after: first)
            guard start < text.endIndex else { return nil }
            if text.utf8[start] == UInt8(ascii: "/") {
                return first..<text.utf8.index(after: start)
            }
        }
        return nil
    }

    private func path(_ path: Substring, depth: Int) -> String {
        var before = ""
        return Self.split(path, at: "/").map { segment in
            defer { before = String(segment) }
            var parts = Self.split(segment, at: ";")
            let name = parts.removeFirst()
            let isSecret =
                Self.looksLikeSecret(name) || (Self.looksMade(name) && hides(key: before))
            let parameters = parts.map { ";" + items($0, depth: depth) }.joined()
            return (isSecret ? Self.mark : String(name)) + parameters
        }.joined(separator: "/")
    }

    private static func split(_ text: Substring, at separator: Unicode.Scalar) -> [Substring] {
        text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }

    /// The items of a query or a form without the values that are secrets, or hold some.
    func items(_ query: Substring, depth: Int) -> String {
        var shown = ""
        var rest = query.unicodeScalars
        while true {
            let end = rest.firstIndex { $0 == "&" || $0 == ";" } ?? rest.endIndex
            shown += item(Substring(rest[..<end]), depth: depth)
            guard end < rest.endIndex else { return shown }
            shown.unicodeScalars.append(rest[end])
            rest = rest[rest.index(after: end)...]
        }
    }

    private func item(_ item: Substring, depth: Int) -> String {
        guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return holdsSecret(item, depth: depth) ? Self.mark : String(item)
        }
        let value = item[item.utf8.index(after: equals)...]
        if hides(key: String(item[..<equals])) || holdsSecret(value, depth: depth) {
            return item[..<value.startIndex] + Self.mark
        }
        return String(item)
    }

    // A value may be a URL, or JSON, with secrets of its own.
    private func holdsSecret(_ value: Substring, depth: Int) -> Bool {
        if Self.looksLikeSecret(value) { return true }
        guard Self.mayHoldMore(value) else { return false }
        let bytes = value.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        let plain = String(decoding: bytes, as: UTF8.self)
        let decoded = plain.removingPercentEncoding ?? plain
        // What is packed deeper than this is packed to be hidden.
        guard depth < 3 else { return Self.mayHoldMore(decoded) }
        if Self.looksLikeJSON(decoded) {
            return JSONRedactor(decoded, self, depth: depth + 1).result() != decoded
        }
        return unescapedText(decoded, depth: depth + 1) != decoded
    }

    private static func mayHoldMore(_ text: some StringProtocol) -> Bool {
        text.utf8.contains { marksOfMore.contains($0) }
    }

    private static let marksOfMore = Array("%{?=@".utf8)

    /// Whether a text begins like a list or an object.
    package static func looksLikeJSON(_ text: String) -> Bool {
        let first = text.unicodeScalars.first { !$0.properties.isWhitespace }
        return first == "{" || first == "["
    }

    /// Whether a word is a credential by its looks: a JSON Web Token, or a key of a known issuer.
    static func looksLikeSecret(_ word: Substring) -> Bool {
        let bytes = word.utf8
        guard bytes.count >= 20 else { return false }
        if bytes.starts(with: "eyJ".utf8) { return bytes.contains(UInt8(ascii: ".")) }
        if issuers.contains(where: { bytes.starts(with: $0.utf8) }) { return true }
        guard bytes.starts(with: "bot".utf8), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return bytes[..<colon].dropFirst(3).allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    /// Whether a word was made by a machine rather than written by a person.
    package static func looksMade(_ word: Substring) -> Bool {
        let length = word.utf8.count
        return length >= 24
            || (length >= 6 && word.unicodeScalars.contains { $0.properties.numericType != nil })
    }

    private static let issuers = [
        "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk_live_", "rk_live_", "sk-",
        "xoxb-", "xoxp-", "xoxa-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "hf_",
    ]
}
