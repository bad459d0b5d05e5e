import Foundation

extension Redaction {
    /// A URL without its secrets, and nothing escaped.
    /// - Parameters:
    ///   - text: The URL, or what stands in the place of one.
    ///   - depth: In how many URLs or JSON texts it stands itself.
    /// - Returns: The text.
    func urlText(_ text: String, depth: Int) -> String {
        var text = text[...]
        var fragment = ""
        if let hash = text.firstIndex(of: "#") {
            // The fragment of an application in a browser has a path and a query of its own.
            fragment = text[text.index(after: hash)...].split(
                separator: "?", omittingEmptySubsequences: false
            ).map { items($0, depth: depth) }.joined(separator: "?")
            fragment = "#" + fragment
            text = text[..<hash]
        }
        var query = ""
        if let mark = text.firstIndex(of: "?") {
            query = "?" + items(text[text.index(after: mark)...], depth: depth)
            text = text[..<mark]
        }
        return hierarchy(text, depth: depth) + query + fragment
    }

    // Scheme, authority and path, perhaps several in a row.
    private func hierarchy(_ text: Substring, depth: Int) -> String {
        var shown = ""
        var rest = text
        while let slashes = Self.slashes(in: rest) {
            shown += path(rest[..<slashes.lowerBound], depth: depth) + "//"
            let authority = rest[slashes.upperBound...].prefix { $0 != "/" && $0 != "\\" }
            if let at = authority.lastIndex(of: "@") {
                shown += Self.mark + authority[at...]
            } else {
                shown += authority
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
        return path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            defer { before = String(segment) }
            var parts = segment.split(separator: ";", omittingEmptySubsequences: false)
            let name = parts.removeFirst()
            let isSecret =
                Self.looksLikeSecret(name) || (Self.looksMade(name) && hides(key: before))
            let parameters = parts.map { ";" + items($0, depth: depth) }.joined()
            return (isSecret ? Self.mark : String(name)) + parameters
        }.joined(separator: "/")
    }

    /// The items of a query or a form without the values that are secrets, or hold some.
    func items(_ query: Substring, depth: Int) -> String {
        var shown = ""
        var rest = query
        while true {
            let end = rest.firstIndex { $0 == "&" || $0 == ";" } ?? rest.endIndex
            shown += item(rest[..<end], depth: depth)
            guard end < rest.endIndex else { return shown }
            shown.append(rest[end])
            rest = rest[rest.index(after: end)...]
        }
    }

    private func item(_ item: Substring, depth: Int) -> String {
        guard let equals = item.firstIndex(of: "=") else {
            return holdsSecret(item, depth: depth) ? Self.mark : String(item)
        }
        let value = item[item.index(after: equals)...]
        if hides(key: String(item[..<equals])) || holdsSecret(value, depth: depth) {
            return item[...equals] + Self.mark
        }
        return String(item)
    }

    // A value may be a URL, or JSON, with secrets of its own.
    private func holdsSecret(_ value: Substring, depth: Int) -> Bool {
        if Self.looksLikeSecret(value) { return true }
        guard value.contains(where: { "%{?=@".contains($0) }) else { return false }
        let plain = value.replacingOccurrences(of: "+", with: " ")
        let decoded = plain.removingPercentEncoding ?? plain
        // What is packed deeper than this is packed to be hidden.
        guard depth < 3 else { return decoded.contains { "%{?=@".contains($0) } }
        if let first = decoded.first(where: { !$0.isWhitespace }), "{[".contains(first) {
            return JSONRedactor(decoded, self, depth: depth + 1).result() != decoded
        }
        return unescapedText(decoded, depth: depth + 1) != decoded
    }

    /// Whether a word is a credential by its looks: a JSON Web Token, or a key of a known issuer.
    static func looksLikeSecret(_ word: Substring) -> Bool {
        guard word.utf8.count >= 20 else { return false }
        if word.hasPrefix("eyJ") { return word.contains(".") }
        if issuers.contains(where: word.hasPrefix) { return true }
        guard word.hasPrefix("bot"), let colon = word.firstIndex(of: ":") else { return false }
        return word[..<colon].dropFirst(3).allSatisfy(\.isNumber)
    }

    /// Whether a word was made by a machine rather than written by a person.
    package static func looksMade(_ word: Substring) -> Bool {
        let length = word.utf8.count
        return length >= 24 || (length >= 6 && word.contains(where: \.isNumber))
    }

    private static let issuers = [
        "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk_live_", "rk_live_", "sk-",
        "xoxb-", "xoxp-", "xoxa-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "hf_",
    ]
}
