// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Secrets that sentences reveal: "the password is hunter2", "token 9f86d081884c has expired".
extension SecretScanner {
    /// The beginnings of the words that announce a secret.
    static let beginningsOfWords = [
        "tok", "sec", "pas", "api", "cod", "key", "pin", "otp", "tot", "phr", "acc", "cre", "mne",
        "cur", "mac", "def",
    ].map { Array($0.utf8) }

    /// Hides the secret that a word announces, or a code that the words behind it call one.
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
        // A path or a part of one is no sentence: `POST /token HTTP/1.1`.
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

    // "unexpected token" speaks of a token of a grammar.
    private static func isOfParser(_ word: [UInt8]) -> Bool {
        ["unexpected", "unrecognized", "unrecognised"].contains { word.elementsEqual($0.utf8) }
    }

    private func isSpokenValue(_ range: Range<Int>, isTold: Bool, isCode: Bool) -> Bool {
        let value = bytes[range].reversed().drop { ".,;:!?)'\"".utf8.contains($0) }.reversed()
        let text = Array(value)
        if Prose.isWord(text) { return false }
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
