// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension SecretScanner {
    // MARK: Schemes

    private enum Scheme {
        /// Any word after the scheme is a credential.
        case token
        /// Base64 of a user name and a password.
        case pair
        /// The scheme is also an everyday word: the text after it must look like a credential.
        case word
        /// The parameters are secret in a client's answer, but not in a server's challenge.
        case parameters
    }

    private static let schemes: [(name: [UInt8], scheme: Scheme)] = [
        ("bearer", Scheme.token), ("dpop", .token), ("basic", .pair), ("token", .word),
        ("apikey", .word), ("negotiate", .word), ("ntlm", .word), ("oauth", .word),
        ("ssws", .word), ("sharedkey", .word), ("splunk", .word), ("bot", .word), ("aws", .word),
        ("hmac", .word), ("signature", .word), ("digest", .parameters), ("hawk", .parameters),
        ("mac", .parameters), ("aws4-hmac-sha256", .parameters),
    ].map { (Array($0.0.utf8), $0.1) }

    static func isScheme(_ word: some Collection<UInt8>) -> Bool { scheme(word) != nil }

    private static func scheme(_ word: some Collection<UInt8>) -> Scheme? {
        guard (3...16).contains(word.count) else { return nil }
        return schemes.first { $0.name.elementsEqual(word.lazy.map(Grammar.lowercased)) }?.scheme
    }

    /// Hides the credential after an authentication scheme at the position; false if there is none.
    mutating func credentialOfScheme() -> Bool {
        guard Self.beginsScheme[bytes[position]] != 0 else { return false }
        let word = bytes[position...].prefix(17).prefix {
            Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "-")
        }
        guard let scheme = Self.scheme(word), let token = tokenBehind(word.endIndex) else {
            return false
        }
        let text = bytes[token]
        let isSecret =
            switch scheme {
            // Lower-case words after "bearer" are prose, as in "a ring bearer said".
            case .token:
                !(word.first == UInt8(ascii: "b") && text.allSatisfy { $0 &- 0x61 < 26 })
                    && !Self.isParameter(text) && !Self.speaksOfScheme(text)
            case .pair: isPair(text)
            case .word: isCredential(text) && !Self.isParameter(text)
            case .parameters: text.contains(0x3D) && hideAnswer(from: token.lowerBound)
            }
        guard isSecret else { return false }
        if scheme == .pair { learnPair(text) }
        if scheme != .parameters { hideNow(token) }
        return true
    }

    // Returns the word after whitespace; a query writes a space as a plus sign.
    private func tokenBehind(_ scheme: Int) -> Range<Int>? {
        guard scheme < bytes.count else { return nil }
        let isPlus = bytes[scheme] == UInt8(ascii: "+")
        var start = bytes[scheme...].prefix(8).prefix {
            isPlus ? $0 == UInt8(ascii: "+") : Grammar.isBlank($0)
        }.endIndex
        guard start > scheme, start < bytes.count else { return nil }
        let quote = bytes[start]
        let close = Self.closing[quote]
        if close != nil { start += 1 }
        let end = end(start) { $0 == 0x26 || $0 == close || (isPlus && $0 == 0x2B) }
        return start < end ? start..<end : nil
    }

    private static let closing: [UInt8: UInt8] = [
        0x22: 0x22, 0x27: 0x27, 0x3C: 0x3E, 0x28: 0x29, 0x7B: 0x7D,
    ]

    // Whether a text has only token68 characters (RFC 9110 §11.2) and was not written by a person.
    func isCredential(_ token: ArraySlice<UInt8>) -> Bool {
        token.count >= 16 && token.contains(where: Grammar.isDigit)
            && token.allSatisfy { Grammar.isAlphanumeric($0) || "+/=._-~:".utf8.contains($0) }
    }

    private static let beginsScheme = ByteTable { byte in
        schemes.contains { $0.name[0] == Grammar.lowercased(byte) } ? 1 : 0
    }

    static var beginningsOfSchemes: [[UInt8]] { schemes.map(\.name) }

    private static func isParameter(_ token: ArraySlice<UInt8>) -> Bool {
        guard let equals = token.firstIndex(of: UInt8(ascii: "=")) else { return false }
        return parameterNames.contains(token[..<equals])
    }

    private static func speaksOfScheme(_ token: ArraySlice<UInt8>) -> Bool {
        NaturalTextHeuristic.isWord(token) || schemeWords.contains(token)
    }

    private static let parameterNames = WordSet(
        """
        realm error error_description error_uri scope charset algorithm nonce qop opaque stale \
        expires_in token_type grant_type domain uri resource_metadata authorization_uri resource resource_id client_id as_uri max_age
        """)

    private static let schemeWords = WordSet(
        """
        token tokens auth authentication authorization scheme schemes challenge header headers \
        credential credentials realm access methods method format usage type redacted
        """)

    // MARK: Pairs and parameters

    private func isPair(_ token: ArraySlice<UInt8>) -> Bool {
        guard let pair = Base64.decode(token) else { return false }
        return pair.contains(UInt8(ascii: ":")) && token.count >= 4
            || (token.count >= 12 && TokenHeuristic.isMade(token))
            || (isCut && token.endIndex == bytes.count)
    }

    private func learnPair(_ token: ArraySlice<UInt8>) {
        guard let pair = Base64.decode(token) else { return }
        search.learn(pair, isNamed: true)
        if let colon = pair.firstIndex(of: UInt8(ascii: ":")) {
            search.learn(pair[(colon + 1)...], isNamed: true)
        }
    }

    // Only an answer to a challenge has a `response`, a `mac` or a `signature` parameter.
    private mutating func hideAnswer(from start: Int) -> Bool {
        if start < withoutAnswer { return false }
        let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        search.work += end - start
        let line = bytes[start..<end].map(Grammar.lowercased)
        let isAnswer = ["response=", "mac=", "signature="].contains { line.contains($0.utf8) }
        guard isAnswer else {
            withoutAnswer = end
            return false
        }
        hideNow(start..<end, isNamed: false)
        return true
    }

    // MARK: Keys

    /// Hides a private key in PEM (RFC 7468) up to its end, or up to the end of the text.
    mutating func privateKey() {
        guard position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "-"),
            bytes[position...].starts(with: "-----BEGIN ".utf8)
        else { return }
        let label = bytes[(position + 11)...].prefix(64).prefix { $0 != UInt8(ascii: "-") }
        guard label.contains("PRIVATE KEY".utf8) else { return }
        let start = min(label.endIndex + 5, bytes.count)
        var end = start
        while end < bytes.count, !bytes[end...].starts(with: "-----END".utf8) { end += 1 }
        search.work += end - position
        hideNow(start..<end, isNamed: false)
    }
}

/// Secrets that sentences reveal: "the password is hunter2", "token 9f86d081884c has expired".
extension SecretScanner {
    static let beginningsOfWords = [
        "tok", "sec", "pas", "api", "cod", "key", "pin", "otp", "tot", "phr", "acc", "cre", "mne",
        "cur", "mac", "def",
    ].map { Array($0.utf8) }

    /// Hides the secret that a word announces, or a code as in "482913 is your code".
    mutating func spokenSecret(_ word: Range<Int>) {
        guard word.count >= 3, word.upperBound + 3 < bytes.count, bytes[word.upperBound] == 0x20
        else { return }
        if bytes[word].allSatisfy(Grammar.isDigit) {
            if isCalledCode(word) { hideNow(word) }
            return
        }
        guard isSpokenName(word) else { return }
        var start = word.upperBound
        var isTold = false
        for _ in 0..<4 {
            while start < bytes.count, start - word.upperBound < 40,
                " :'`(\"".utf8.contains(bytes[start])
            {
                start += 1
            }
            guard start < bytes.count, Self.isOfName(bytes[start]) else { return }
            let end = endOfToken(start)
            let filler = bytes[start..<end].prefix(while: Grammar.isAlphanumeric)
            guard Self.fillers.contains(filler) else {
                let isCode = SecretNames.isTypedCode(bytes[word])
                if isSpokenValue(start..<end, isTold: isTold, isCode: isCode) {
                    hideNow(start..<end)
                }
                return
            }
            let first = bytes[start]
            isTold = isTold || first == UInt8(ascii: "i") || first == UInt8(ascii: "w")
            start = filler.endIndex
        }
    }

    private static let fillers = WordSet("is was value provided received given supplied")

    // "482913 is your verification code"
    private func isCalledCode(_ word: Range<Int>) -> Bool {
        let rest = bytes[word.upperBound...].prefix(60)
        guard (4...10).contains(word.count), rest.starts(with: " is your ".utf8) else {
            return false
        }
        return rest.dropFirst(9).split { !Grammar.isAlphanumeric($0) }.prefix(5).contains {
            SecretNames.isTypedCode($0) || SecretNames.isKeyLike($0)
        }
    }

    private func isSpokenName(_ word: Range<Int>) -> Bool {
        // A word of a path is not part of a sentence: `POST /token HTTP/1.1`.
        if word.lowerBound > 0, "/.=&?".utf8.contains(bytes[word.lowerBound - 1]) { return false }
        if SecretNames.isKeyLike(bytes[word]) {
            return bytes[word].last != UInt8(ascii: "s")
                && !Self.isOfParser(wordBefore(word.lowerBound))
        }
        return endsSpokenName(word)
    }

    /// Whether a word is the end of a name of several words: "API key", "your PIN".
    func endsSpokenName(_ word: Range<Int>) -> Bool {
        guard SecretNames.endsName(bytes[word]) else { return false }
        if SecretNames.isShortKeyInText(bytes[word]) { return true }
        let before = wordBefore(word.lowerBound)
        return before.elementsEqual("your".utf8)
            || SecretNames.isKeyLike(before + bytes[word])
    }

    private func wordBefore(_ start: Int) -> [UInt8] {
        guard start > 1, bytes[start - 1] == 0x20 else { return [] }
        let before = bytes[..<(start - 1)].suffix(16).reversed().prefix {
            Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "-")
        }
        return before.reversed().map(Grammar.lowercased)
    }

    // In "unexpected token", a token is part of a grammar.
    private static func isOfParser(_ word: [UInt8]) -> Bool {
        ["unexpected", "unrecognized", "unrecognised"].contains { word.elementsEqual($0.utf8) }
    }

    private func isSpokenValue(_ range: Range<Int>, isTold: Bool, isCode: Bool) -> Bool {
        let value = bytes[range].reversed().drop { ".,;:!?)'\"".utf8.contains($0) }.reversed()
        let text = Array(value)
        if NaturalTextHeuristic.isWord(text) { return false }
        if isCut, range.upperBound == bytes.count { return true }
        let digits = text.count(where: Grammar.isDigit)
        if digits > 0, text.allSatisfy({ Grammar.isDigit($0) || $0 == UInt8(ascii: "-") }) {
            if isTold { return digits >= (isCode ? 4 : 6) }
            return digits == text.count && digits >= (isCode ? 6 : 8)
        }
        if text.count >= 24 { return isCredential(text[...]) }
        if isTold { return isMade(range) }
        return text.count >= 8 && digits > 0 && !text.contains { "/:=(@".utf8.contains($0) }
    }
}
