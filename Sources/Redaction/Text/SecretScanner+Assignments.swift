// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Values after names: `password=…`, `"token": …`, `X-Api-Key: …`, `?sig=…`.
extension SecretScanner {
    /// Checks the name before the sign at the position, and hides the value after the sign.
    mutating func assignment() {
        guard let name = name(before: position) else { return }
        let sign = bytes[position]
        let strength = strength(of: name, sign: sign)
        guard strength != .none else { return }
        var value = position + 1
        // Accepts `==`, `=>` and `:=`. Two colons join a path of names; slashes begin a URL.
        while value < bytes.count,
            bytes[value] == UInt8(ascii: "=") || bytes[value] == UInt8(ascii: ">")
        {
            value += 1
        }
        if sign == UInt8(ascii: ":"), value < bytes.count {
            // Two colons before a blank mark a value in base64 (LDIF, RFC 2849).
            if bytes[value] == sign, value + 1 < bytes.count, Grammar.isBlank(bytes[value + 1]) {
                value += 1
            } else if bytes[value] == sign || (isSlash(value) && isSlash(value + 1)) {
                return
            }
        }
        let begin = value
        while value < bytes.count, isBlank(value, acrossLines: name.isQuoted) { value += 1 }
        // Skips an escaped tab; an earlier printing may have escaped the tab.
        if bytes[value...].starts(with: "\\u{9}".utf8) { value += 5 }
        search.work += value - position
        guard value < bytes.count else { return }
        let isSpaced = value > begin || name.isSpaced
        hideValue(at: value, of: name, isSpaced: isSpaced, inQuery: strength == .inQuery)
    }

    private func isBlank(_ place: Int, acrossLines: Bool) -> Bool {
        Grammar.isBlank(bytes[place]) || (acrossLines && bytes[place] <= 0x20)
    }

    // MARK: The name

    private struct Name {
        let range: Range<Int>
        let isQuoted: Bool
        let isSpaced: Bool
    }

    private enum Strength {
        case none, anywhere, inQuery
    }

    private func name(before sign: Int) -> Name? {
        var end = sign
        while end > 0, sign - end < 8, Grammar.isBlank(bytes[end - 1]) { end -= 1 }
        let isSpaced = end < sign
        if end > 0, bytes[end - 1] == UInt8(ascii: "]"), end > 1, isQuote(end - 2) { end -= 1 }
        let isQuoted = end > 0 && isQuote(end - 1)
        if isQuoted { end -= 1 }
        // JSON within JSON has escaped quotes.
        while isQuoted, end > 0, bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
        var start = end
        while start > 0, Self.isOfName(bytes[start - 1]) { start -= 1 }
        search.work += sign - start
        return start < end
            ? Name(range: start..<end, isQuoted: isQuoted, isSpaced: isSpaced) : nil
    }

    private func isQuote(_ place: Int) -> Bool {
        let byte = bytes[place]
        return byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
    }

    // Bytes beyond ASCII count too, because an accented letter still looks like the letter.
    static func isOfName(_ byte: UInt8) -> Bool {
        if Grammar.isAlphanumeric(byte) || byte >= 0x80 { return true }
        return "-_.%[]$*".utf8.contains(byte)
    }

    private func strength(of name: Name, sign: UInt8) -> Strength {
        let text = bytes[name.range]
        let isMember = name.isQuoted && sign == UInt8(ascii: ":")
        if sign == UInt8(ascii: "="), !name.isQuoted, !name.isSpaced,
            isInQuery(at: name.range.lowerBound)
        {
            return search.rules.hides(key: text) ? .inQuery : .none
        }
        if isMember { return search.rules.hides(key: text) ? .anywhere : .none }
        if search.rules.hidesInText(text) { return .anywhere }
        let isField =
            sign == UInt8(ascii: ":")
            ? SecretNames.isHeaderInText(text) : name.isQuoted && SecretNames.isFieldName(text)
        if isField { return .anywhere }
        return endsSpokenName(name.range) ? .anywhere : .none
    }

    // MARK: The value

    private mutating func hideValue(
        at start: Int, of name: Name, isSpaced: Bool, inQuery: Bool
    ) {
        let end: Int
        var value = start
        if bytes[position] == UInt8(ascii: ":"), beginsLine(name),
            let block = block(at: start, of: name.range.lowerBound)
        {
            return hideNow(block)
        }
        switch bytes[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            value += 1
            if let close = endOfTriple(start) {
                value += 2
                end = close
            } else {
                end = endOfQuoted(start, isMember: name.isQuoted)
            }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let isWhole = name.isQuoted || (bytes[position] == UInt8(ascii: "=") && !inQuery)
            if !isWhole, !inQuery { return }
            end = isWhole ? endOfNested(start) : endOfItem(start)
        default:
            if inQuery {
                end = endOfItem(start)
            } else if bytes[position] == UInt8(ascii: ":"), !name.isQuoted, beginsLine(name) {
                end = endOfLine(start)
            } else {
                end = endOfToken(start)
            }
        }
        guard end > value, bytes[value..<end].contains(where: Self.isOfSecret) else { return }
        if value == start, isSpaced || bytes[position] == UInt8(ascii: ":"),
            let credential = credential(in: value..<end)
        {
            return hideNow(credential)
        }
        // A scheme before a placeholder is no secret: "Authorization: Bearer <token>".
        if value == start, Self.isScheme(bytes[value..<end]) { return }
        // A list or an object is not prose, and the content is already scanned.
        let isNested = bytes[start] == UInt8(ascii: "{") || bytes[start] == UInt8(ascii: "[")
        if isSpaced, value == start, !isNested, isProse(value..<end) { return }
        if SecretNames.isCount(bytes[name.range]), bytes[value..<end].allSatisfy(Grammar.isDigit) {
            return
        }
        hideNow(value..<end)
    }

    private static func isOfSecret(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte >= 0x80
    }

    // In `Authorization: Bearer …`, the scheme stays visible.
    private func credential(in value: Range<Int>) -> Range<Int>? {
        let scheme = bytes[value.lowerBound...].prefix(24).prefix {
            Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "-")
        }
        guard Self.isScheme(scheme), scheme.endIndex < bytes.count,
            Grammar.isBlank(bytes[scheme.endIndex])
        else { return nil }
        let start =
            bytes[scheme.endIndex...].firstIndex { !Grammar.isBlank($0) } ?? scheme.endIndex
        let token = endOfToken(start)
        let end = max(token, value.upperBound)
        return start < end && !NaturalTextHeuristic.isWord(bytes[start..<token]) ? start..<end : nil
    }

    // Whether a value is prose that reveals no secret: "password: required", "token: 12 was found".
    private func isProse(_ value: Range<Int>) -> Bool {
        let first = bytes[value].prefix { $0 != 0x20 }
        let word = first.reversed().drop { ",;:.!?)".utf8.contains($0) }.reversed()
        if NaturalTextHeuristic.isWord(Array(word)) { return true }
        if TokenHeuristic.isMade(word) || bytes[position] == UInt8(ascii: "=") { return false }
        let behind = bytes[first.endIndex...]
        guard behind.first == 0x20 else { return false }
        return NaturalTextHeuristic.isWord(
            behind.dropFirst().prefix(24).prefix { $0 > 0x20 && $0 != 0x2C })
    }

    private func beginsLine(_ name: Name) -> Bool {
        var start = name.range.lowerBound
        while start > 0, name.range.lowerBound - start < 64,
            bytes[start - 1] == 0x20 || bytes[start - 1] == 0x09 || bytes[start - 1] == 0x2D
        { start -= 1 }
        return start == 0 || bytes[start - 1] == 0x0A || bytes[start - 1] == 0x0D
    }

    // MARK: The end of a value

    private func endOfLine(_ start: Int) -> Int {
        let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D || $0 == 0x22 }
        search.work += (end ?? bytes.count) - start
        return end ?? bytes.count
    }

    func endOfQuoted(_ start: Int, isMember: Bool) -> Int {
        var place = start + 1
        while place < bytes.count, bytes[place] != bytes[start] {
            if bytes[place] == UInt8(ascii: "\\") { place += 1 }
            if !isMember, place < bytes.count, bytes[place] == 0x0A { break }
            place += 1
        }
        search.work += place - start
        return min(place, bytes.count)
    }

    private func endOfNested(_ start: Int) -> Int {
        var depth = 0
        var place = start
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""): place = endOfQuoted(place, isMember: true)
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return place + 1 }
            default: break
            }
            place += 1
        }
        search.work += place - start
        return bytes.count
    }

    // Returns the end of a query item. A path parameter ends at the end of its path segment.
    private func endOfItem(_ start: Int) -> Int {
        let isParameter = isParameter
        return end(start, inQuery: !isParameter) { byte in
            byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
                || (isParameter && ";/?".utf8.contains(byte))
        }
    }

    private var isParameter: Bool {
        var place = position
        while place > 0, Self.isOfName(bytes[place - 1]) { place -= 1 }
        return place > 0 && bytes[place - 1] == UInt8(ascii: ";") && !isInQuery
    }

    func endOfToken(_ start: Int) -> Int { end(start) { $0 == UInt8(ascii: "&") } }

    func end(_ start: Int, inQuery: Bool = false, _ isEnd: (UInt8) -> Bool) -> Int {
        var place = start
        while place < bytes.count {
            let byte = bytes[place]
            if Self.isBoundary(byte) || isEnd(byte) || isUnicodeBlank(place) { break }
            if isEscapedControl(place) { break }
            if ",;)]}'".utf8.contains(byte), isClosed(place, inQuery: inQuery) { break }
            place += 1
        }
        search.work += place - start
        return place
    }

    // Whether a closing sign ends the word: the word does not continue, or another name follows.
    private func isClosed(_ place: Int, inQuery: Bool) -> Bool {
        let next = place + 1
        guard next < bytes.count else { return true }
        if Self.isBoundary(bytes[next]) || ",;)]}'.&".utf8.contains(bytes[next])
            || isEscapedControl(next)
        {
            return true
        }
        guard !inQuery, bytes[place] == UInt8(ascii: ",") || bytes[place] == UInt8(ascii: ";")
        else { return false }
        let name = bytes[next...].prefix(64).prefix(while: Self.isOfName)
        search.work += name.count
        guard !name.isEmpty, name.endIndex < bytes.count else { return false }
        return bytes[name.endIndex] == UInt8(ascii: "=")
            || bytes[name.endIndex] == UInt8(ascii: ":")
    }

    // U+0085, U+00A0, U+2000 to U+200A, U+2028, U+2029, U+3000.
    private func isUnicodeBlank(_ place: Int) -> Bool {
        switch bytes[place] {
        case 0xC2:
            bytes[place...].starts(with: [0xC2, 0x85])
                || bytes[place...].starts(with: [0xC2, 0xA0])
        case 0xE2:
            bytes[place...].starts(with: [0xE2, 0x80]) && place + 2 < bytes.count
                && (bytes[place + 2] <= 0x8A || (0xA8...0xA9).contains(bytes[place + 2]))
        case 0xE3: bytes[place...].starts(with: [0xE3, 0x80, 0x80])
        default: false
        }
    }
}

extension SecretScanner {
    /// Returns the end of a text in triple quotes (TOML, Python); nil if there is no such text.
    func endOfTriple(_ start: Int) -> Int? {
        guard isTriple(start) else { return nil }
        var end = start + 3
        while end < bytes.count, bytes[end] != bytes[start] || !isTriple(end) { end += 1 }
        search.work += end - start
        return end
    }

    private func isTriple(_ place: Int) -> Bool {
        place + 2 < bytes.count && bytes[place + 1] == bytes[place]
            && bytes[place + 2] == bytes[place]
    }

    /// Returns the lines of a block scalar (YAML); nil if there is no such value at a position.
    func block(at start: Int, of name: Int) -> Range<Int>? {
        guard bytes[start] == UInt8(ascii: "|") || bytes[start] == UInt8(ascii: ">") else {
            return nil
        }
        let indicators = bytes[(start + 1)...].prefix(16).prefix {
            "+-0123456789 \t\r".utf8.contains($0)
        }
        guard indicators.endIndex < bytes.count, bytes[indicators.endIndex] == 0x0A else {
            return nil
        }
        let line = bytes[..<name].suffix(256).lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        var next = indicators.endIndex + 1
        var (begin, end) = (next, next)
        while next < bytes.count {
            let text = bytes[next...].prefix { $0 != 0x0A }
            let indentation = text.prefix { $0 == 0x20 }.count
            if !text.allSatisfy({ $0 <= 0x20 }) {
                if indentation <= name - line { break }
                if end == begin { begin = next + indentation }
                end = text.endIndex
            }
            next = text.endIndex + 1
        }
        search.work += next - start
        return begin < end ? begin..<end : nil
    }
}
