/// Finds the words that are credentials by their looks: JSON Web Tokens, and keys of known issuers.
///
/// It is asked for the words of a text in their order, and remembers runs that hold none, so that a
/// text of beginnings alone costs no more than another one.
struct SecretLooks {
    private let bytes: [UInt8]
    private let isCut: Bool
    // Up to where there is no token, and no key.
    private var barrenOfTokens = 0
    private var barrenOfKeys = 0
    private(set) var work = 0

    /// - Parameters:
    ///   - bytes: The text.
    ///   - isCut: Whether the text goes on where it ends here: a credential that reaches this end
    ///     may be shorter than a whole one.
    init(_ bytes: [UInt8], isCut: Bool) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// Whether a word was made by a machine rather than written by a person.
    static func isMade(_ word: some Collection<UInt8>) -> Bool {
        let count = word.count
        return count >= 24 || (count >= 6 && word.contains(where: Grammar.isDigit))
    }

    /// The end of the credential that begins with the word at a position, or nil where none does.
    mutating func credential(at start: Int) -> Int? {
        guard Self.begins[bytes[start]] != 0 else { return nil }
        let rest = bytes[start...]
        if rest.starts(with: "eyJ".utf8) { return webToken(start) }
        if let issuer = Self.issuers.first(where: { rest.starts(with: $0) }) {
            return key(start, start + issuer.count)
        }
        return rest.starts(with: "bot".utf8) ? botToken(start) : nil
    }

    // Header, content and signature (RFC 7519 §3), the last one perhaps empty.
    private mutating func webToken(_ start: Int) -> Int? {
        guard start >= barrenOfTokens else { return nil }
        let end = end(start, Self.isPart)
        if isCut, end == bytes.count { return end }
        if end - start >= 20, bytes[start..<end].contains(UInt8(ascii: ".")) { return end }
        barrenOfTokens = end
        return nil
    }

    private mutating func key(_ start: Int, _ body: Int) -> Int? {
        guard start >= barrenOfKeys else { return nil }
        let end = end(body, Self.isPart)
        if isCut, end == bytes.count { return end }
        if end - start >= 20, Self.isRandom(bytes[body..<end]) { return end }
        barrenOfKeys = end
        return nil
    }

    // What no words of a language are: digits, or letters without a break.
    private static func isRandom(_ body: ArraySlice<UInt8>) -> Bool {
        body.lazy.filter(Grammar.isDigit).count >= 4
            || body.split { !Grammar.isAlphanumeric($0) }.contains { $0.count >= 16 }
    }

    // Telegram's: `bot`, digits, a colon, and the secret.
    private mutating func botToken(_ start: Int) -> Int? {
        let colon = end(start + 3, Grammar.isDigit)
        guard colon > start + 3, colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
            return nil
        }
        let end = end(colon + 1, Self.isPart)
        return end - start >= 20 || (isCut && end == bytes.count) ? end : nil
    }

    private mutating func end(_ start: Int, _ belongs: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, belongs(bytes[end]) { end += 1 }
        work += end - start
        return end
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: ".")
    }

    /// What such a word begins with.
    static var beginnings: [[UInt8]] { issuers + [Array("eyJ".utf8), Array("bot".utf8)] }

    private static let begins = ByteTable { byte in
        beginnings.contains { $0[0] == byte } ? 1 : 0
    }

    private static let issuers = """
        ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- glrt- gldt- sk_live_ sk_test_ rk_live_ rk_test_ \
        whsec_ sk- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- AKIA ASIA AIza ya29. npm_ pypi- hf_ SG. \
        dop_v1_ shpat_ shpss_ hvs. ATATT3 NRAK- PMAK- lin_api_ figd_ AGE-SECRET-KEY-
        """.split(separator: " ").map { Array($0.utf8) }
}
