// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension SecretScanner {
    static func isBoundary(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "<")
            || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "`")
    }

    /// Whether a position has a control character, escaped by this library, which ends a word.
    func isEscapedControl(_ place: Int) -> Bool {
        bytes[place] == UInt8(ascii: "\\") && bytes[place...].starts(with: "\\u{".utf8)
    }

    func isSlash(_ place: Int) -> Bool {
        place < bytes.count
            && (bytes[place] == UInt8(ascii: "/") || bytes[place] == UInt8(ascii: "\\"))
    }

    var isBehindColon: Bool { position > 0 && bytes[position - 1] == UInt8(ascii: ":") }

    /// Handles the authority of a URL, after two slashes or signs that browsers accept instead.
    mutating func authority() {
        var start = position
        while isSlash(start) { start += 1 }
        var end = start
        var at: Int?
        var colon: Int?
        while end < bytes.count, !Self.isBoundary(bytes[end]), !isSlash(end) {
            let byte = bytes[end]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "@") { at = end }
            if byte == UInt8(ascii: ":") { colon = colon ?? end }
            end += 1
        }
        search.work += end - start
        // A slash, hash or question mark in a password ends the authority too early.
        if at == nil, let colon, bytes[start] != UInt8(ascii: "["), !isPort(colon + 1, end) {
            at = nextAt(from: end)
        }
        guard let at else {
            position = max(start, position + 1)
            return beginPath(at: end + 1)
        }
        hideUserInformation(start..<at)
        position = at + 1
        let host = bytes[at...].prefix { !Self.isBoundary($0) && !"/\\?#".utf8.contains($0) }
        beginPath(at: host.endIndex + 1)
    }

    private func isPort(_ start: Int, _ end: Int) -> Bool {
        bytes[start..<end].allSatisfy(Grammar.isDigit)
    }

    private mutating func nextAt(from start: Int) -> Int? {
        if start < withoutAt { return nil }
        var place = start
        while place < bytes.count, !Self.isBoundary(bytes[place]) {
            if bytes[place] == UInt8(ascii: "@") { return place }
            place += 1
        }
        search.work += place - start
        withoutAt = place
        return nil
    }

    private mutating func hideUserInformation(_ range: Range<Int>) {
        hide(range, isNamed: true)
        if let colon = bytes[range].firstIndex(of: UInt8(ascii: ":")) {
            search.learn(bytes[(colon + 1)..<range.upperBound], isNamed: true)
        }
    }

    /// Handles user and password before a host without a scheme: `ada:pa55@db.example:5432`.
    mutating func userInformationWithoutScheme() {
        var start = position
        var colon: Int?
        while start > 0, Self.isOfUserInformation(bytes[start - 1]) {
            start -= 1
            if bytes[start] == UInt8(ascii: ":") { colon = start }
        }
        search.work += position - start
        guard let colon, colon > start, colon < position - 1, isHost(start),
            !Self.labels.contains(bytes[start..<colon])
        else { return }
        hideUserInformation(start..<position)
    }

    // Whether a host follows the `@`: a name with a dot, an address, or a name with port or path.
    // After a slash, the text is part of a URL in any case.
    private func isHost(_ start: Int) -> Bool {
        let isInURL = start > 0 && isSlash(start - 1)
        let host = bytes[(position + 1)...].prefix(255).prefix {
            Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "[")
        }
        if isCut, host.endIndex == bytes.count { return true }
        if host.isEmpty { return false }
        let behind = bytes[host.endIndex...]
        if behind.first == UInt8(ascii: ":") {
            let port = behind.dropFirst().prefix(6).prefix(while: Grammar.isDigit)
            let isEnded =
                port.endIndex == bytes.count || !Grammar.isAlphanumeric(bytes[port.endIndex])
            if isCut, port.endIndex == bytes.count { return true }
            return host.first == UInt8(ascii: "[") || ((1...5).contains(port.count) && isEnded)
        }
        let labels = host.split(separator: UInt8(ascii: "."))
        let isName = labels.count > 1 && labels.last?.contains(where: Grammar.isDigit) == false
        let isAddress = labels.count == 4 && labels.joined().allSatisfy(Grammar.isDigit)
        return isInURL || isName || isAddress || behind.first == UInt8(ascii: "/")
    }

    private static func isOfUserInformation(_ byte: UInt8) -> Bool {
        if Grammar.isAlphanumeric(byte) || byte >= 0x80 { return true }
        return "-._~!$*+%:^".utf8.contains(byte)
    }

    // Words that precede a colon and an address in prose, and schemes without user and password.
    private static let labels = WordSet(
        "mailto sip sips xmpp acct im pres cc bcc to from by email mail contact author npm pkg jsr")

    // MARK: Truncated text

    /// Hides the last word of a truncated text if the word may be a secret without its sign.
    mutating func hideCutWord() {
        var start = bytes.count
        while start > 0, !Self.isBoundary(bytes[start - 1]) { start -= 1 }
        search.work += bytes.count - start
        // A user and a password before an `@` that was truncated.
        guard let slashes = bytes[start...].lastRange(of: Array("//".utf8)) else {
            let colon = bytes[start...].lastIndex(of: UInt8(ascii: ":"))
            if let colon, !isPort(colon + 1, bytes.count) {
                hide((colon + 1)..<bytes.count, isNamed: true)
            }
            return
        }
        let authority = bytes[slashes.upperBound...]
        let end = authority.firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
        guard let colon = authority[..<end].firstIndex(of: UInt8(ascii: ":")),
            !isPort(colon + 1, end), !authority.contains(where: { "@[".utf8.contains($0) })
        else { return }
        hide(slashes.upperBound..<bytes.count, isNamed: true)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func lastRange(of part: [UInt8]) -> Range<Int>? {
        var start = endIndex - part.count
        while start >= startIndex {
            if self[start...].starts(with: part) { return start..<(start + part.count) }
            start -= 1
        }
        return nil
    }
}
