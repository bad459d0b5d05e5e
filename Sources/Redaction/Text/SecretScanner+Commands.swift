// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Options of command lines, and entries of netrc files.
extension SecretScanner {
    // The longest distance in bytes from the start of a command or entry to its options or lines.
    private static let reach = 4096

    /// Records a word that begins a command or an entry; hides the value after an entry's keyword.
    mutating func command(_ word: Range<Int>) {
        switch bytes[word].count {
        case 4 where bytes[word].elementsEqual("curl".utf8): curl = word.lowerBound
        case 7: if isEntry(word) { netrc = word.lowerBound }
        case 8 where bytes[word].elementsEqual("password".utf8):
            guard let netrc, word.lowerBound - netrc < Self.reach else { return }
            let value = netrcWord(behind: word.upperBound)
            if !value.isEmpty { hideNow(value) }
        default: break
        }
    }

    // `machine HOST login …`, `default login …`
    private func isEntry(_ word: Range<Int>) -> Bool {
        let next = netrcWord(behind: word.upperBound)
        // "the default password policy" is no entry.
        if bytes[word].elementsEqual("default".utf8) {
            return bytes[next].elementsEqual("login".utf8)
        }
        guard bytes[word].elementsEqual("machine".utf8), !next.isEmpty else { return false }
        let keyword = netrcWord(behind: next.upperBound)
        return ["login", "password", "account"].contains { bytes[keyword].elementsEqual($0.utf8) }
    }

    private func netrcWord(behind place: Int) -> Range<Int> {
        var start = place
        while start < bytes.count, start - place < 64, bytes[start] <= 0x20 { start += 1 }
        guard start > place, start < bytes.count, bytes[start] > 0x20 else { return place..<place }
        var end = start
        while end < bytes.count, end - start < 1024, bytes[end] > 0x20, !isEscapedControl(end) {
            end += 1
        }
        search.work += end - place
        return start..<end
    }

    // MARK: Options

    /// Hides the value of a command option: `--password hunter2`, `-u ada:hunter2`.
    mutating func option() {
        guard position + 2 < bytes.count, position == 0 || !Self.isOfName(bytes[position - 1])
        else { return }
        if bytes[position + 1] == UInt8(ascii: "-") { longOption() } else { shortOption() }
    }

    private var isInCurl: Bool { curl.map { position - $0 < Self.reach } ?? false }

    private mutating func longOption() {
        let name = bytes[(position + 2)...].prefix(64).prefix(while: Self.isOfName)
        guard name.endIndex < bytes.count,
            bytes[name.endIndex] == 0x20 || bytes[name.endIndex] == UInt8(ascii: "=")
        else { return }
        let isPair = Self.pairOptions.contains(name)
        let isSecret = isPair || Self.secretOptions.contains(name)
        // If an equals sign follows a secret name, the value belongs to an assignment.
        guard isSecret || (SecretNames.isKeyLike(name) && bytes[name.endIndex] == 0x20),
            let value = argument(at: name.endIndex + 1)
        else { return }
        if isPair { return hidePair(value) }
        if !NaturalTextHeuristic.isWord(bytes[value]) { hideNow(value) }
    }

    private static let pairOptions = WordSet("user proxy-user cert proxy-cert")
    private static let secretOptions = WordSet("oauth2-bearer pass proxy-pass")

    private mutating func shortOption() {
        let letter = bytes[position + 1]
        guard "uUbE".utf8.contains(letter) else { return }
        let isSpaced = Grammar.isBlank(bytes[position + 2])
        guard isInCurl || (isSpaced && (letter | 0x20) == UInt8(ascii: "u")),
            let value = argument(at: position + 2)
        else { return }
        if letter != UInt8(ascii: "b") { return hidePair(value) }
        guard value.lowerBound >= withoutCookie else { return }
        if bytes[value].contains(UInt8(ascii: "=")) { return hideNow(value) }
        if value.upperBound == lastArgument.upperBound { withoutCookie = value.upperBound }
    }

    private mutating func argument(at place: Int) -> Range<Int>? {
        var start = place
        while start < bytes.count, start - place < 8, Grammar.isBlank(bytes[start]) { start += 1 }
        guard start < bytes.count, bytes[start] != UInt8(ascii: "-") else { return nil }
        if bytes[start] == UInt8(ascii: "\"") || bytes[start] == UInt8(ascii: "'") {
            return (start + 1)..<max(start + 1, endOfQuoted(start, isMember: false))
        }
        if !lastArgument.contains(start) { lastArgument = start..<endOfToken(start) }
        return lastArgument.isEmpty ? nil : start..<lastArgument.upperBound
    }

    // A user and a password. Two numbers are a user and a group: `-u 1000:1000`.
    private mutating func hidePair(_ range: Range<Int>) {
        guard range.lowerBound >= withoutPair else { return }
        let isUnquoted = range.upperBound == lastArgument.upperBound
        guard let colon = bytes[range].firstIndex(of: UInt8(ascii: ":")) else {
            if isUnquoted { withoutPair = range.upperBound }
            return
        }
        if bytes[(colon + 1)...].prefix(2).elementsEqual("//".utf8) { return withoutPair = colon }
        guard colon > range.lowerBound else { return }
        let password = bytes[(colon + 1)..<range.upperBound]
        if !isInCurl,
            password.isEmpty || bytes[range].allSatisfy({ Grammar.isDigit($0) || $0 == 0x3A })
        {
            return withoutPair = colon
        }
        hideNow(range)
        search.learn(password, isNamed: true)
    }
}
