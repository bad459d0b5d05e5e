// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A kind of content that can be searched, and shown without its secrets.
package enum ShownContent {
    case json
    case form
    case text

    package init?(sniffing content: [UInt8], isCut: Bool = false) {
        var whole = content[...]
        while isCut, let last = whole.last, last >= 0x80 { whole.removeLast() }
        guard String(validating: whole, as: UTF8.self) != nil else { return nil }
        let isForm =
            content.contains(UInt8(ascii: "="))
            && content.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x3C }
        self = isForm ? .form : .text
    }

    /// Returns the content without secrets, or nil if the characters are wider than bytes.
    package func redacted(_ content: [UInt8], isCut: Bool, in search: SecretSearch) -> [UInt8]? {
        guard let shown = read(content, isCut: isCut, in: search) else { return nil }
        // Last, the names and the text between the values are searched.
        return self == .text ? shown : search.bytes(shown, isText: true, isCut: isCut) ?? shown
    }

    package func read(_ content: [UInt8], isCut: Bool, in search: SecretSearch) -> [UInt8]? {
        if Self.isWide(content) { return nil }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = content.starts(with: mark) ? Array(content.dropFirst(mark.count)) : content
        search.depth += 1
        defer { search.depth -= 1 }
        switch self {
        case .json:
            do throws(ContentFault) {
                return try search.json(text, isCut: isCut)
            } catch {
                return search.withhold(text, as: "JSON", error.message)
            }
        case .form: return search.form(text, isCut: isCut)
        case .text: return search.value(text, isCut: isCut) ?? text
        }
    }

    // UTF-16 and UTF-32 have a byte order mark, or zero bytes.
    private static func isWide(_ content: [UInt8]) -> Bool {
        content.starts(with: [0xFF, 0xFE]) || content.starts(with: [0xFE, 0xFF])
            || content.prefix(4).contains(0)
            || content.count(where: { $0 == 0 }) > content.count / 4
    }
}

extension SecretSearch {
    /// Returns text in UTF-16 as UTF-8, and other content unchanged.
    ///
    /// UTF-16 has a byte order mark, or a zero byte in each ASCII character.
    package static func inUTF8(_ content: [UInt8]) -> [UInt8] {
        guard content.count > 1 else { return content }
        let isLittle = content[1] == 0 || content.starts(with: [0xFF, 0xFE])
        guard isLittle || content[0] == 0 || content.starts(with: [0xFE, 0xFF]) else {
            return content
        }
        let pairs = content.prefix(content.count & ~1)
        let text = String(
            bytes: pairs, encoding: isLittle ? .utf16LittleEndian : .utf16BigEndian)
        return text.map { Array($0.utf8) } ?? content
    }

    /// Finds the values of columns with secret names; the first row has the names (RFC 4180).
    package func learn(table text: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        func split(_ text: ArraySlice<UInt8>, at separators: [UInt8]) -> [ArraySlice<UInt8>] {
            var isQuoted = false
            return text.split(omittingEmptySubsequences: false) { byte in
                if byte == quote { isQuoted.toggle() }
                return !isQuoted && separators.contains(byte)
            }
        }
        let rows = split(text[...], at: [0x0A, 0x0D])
        let separator = ",;\t|".utf8.max { left, right in
            rows[0].count { $0 == left } < rows[0].count { $0 == right }
        }
        let cells = rows.map { row in
            split(row, at: [separator ?? 0x2C]).map { $0.filter { $0 != quote } }
        }
        for (column, name) in cells[0].enumerated() where rules.hides(key: name) {
            for row in cells.dropFirst() where column < row.count {
                learn(row[column], isNamed: true)
            }
        }
    }
}

enum NestedKind {
    case json, xml, propertyList

    var name: String {
        switch self {
        case .json: "JSON"
        case .xml: "XML"
        case .propertyList: "a binary property list"
        }
    }

    init?(sniffing text: [UInt8]) {
        guard let first = text.firstIndex(where: { $0 > 0x20 }),
            "b<{[".utf8.contains(text[first])
        else { return nil }
        let rest = text[first...]
        if rest.starts(with: "bplist0".utf8) {
            self = .propertyList
        } else if rest.starts(with: "<?xml".utf8) || rest.starts(with: "<!DOCTYPE plist".utf8) {
            self = .xml
        } else if Self.beginsJSON(rest) {
            self = .json
        } else {
            return nil
        }
    }

    // The character after the bracket decides, because a line of a log may begin with a bracket.
    private static func beginsJSON(_ text: ArraySlice<UInt8>) -> Bool {
        guard let next = text.dropFirst().first(where: { $0 > 0x20 }) else { return false }
        switch text.first {
        case UInt8(ascii: "{"): return next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
        case UInt8(ascii: "["): return "{[]\"-".utf8.contains(next) || Grammar.isDigit(next)
        default: return false
        }
    }
}

extension SecretSearch {
    func base64(_ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        guard text.count >= 16, Base64.isDigitOrBlank(text[0]), Base64.isDigitOrBlank(text[15]),
            Base64.mayHoldContent(text)
        else { return nil }
        work += text.count
        guard let plain = Base64.decode(text), let kind = NestedKind(sniffing: plain),
            depth < Self.maxDepth, let shown = nested(kind, plain, isCut)
        else { return nil }
        return Array(Data(shown).base64EncodedData())
    }

    /// Whether content contains a secret, or cannot be parsed and may contain a secret.
    func holdsSecret(_ kind: NestedKind, _ content: [UInt8], isCut: Bool) -> Bool {
        if depth >= Self.maxDepth { return true }
        let inner = SecretSearch(rules, purpose, xml: xml)
        inner.depth = depth + 1
        defer {
            found += inner.found
            work += inner.work
        }
        guard case .json = kind else { return inner.nested(kind, content, isCut) != nil }
        guard let shown = try? inner.json(content, isCut: isCut) else {
            return rules.speaksOfSecrets(content)
        }
        return shown != content
    }

    // Returns content without secrets, or nil if there are no secrets. Content that cannot be
    // parsed is searched as text; content with a secret name is withheld.
    func nested(_ kind: NestedKind, _ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        do throws(ContentFault) {
            let shown = try read(text, as: kind, isCut)
            return shown == text ? nil : shown
        } catch {
            // The strings of a binary list may be in UTF-16.
            if kind == .propertyList || rules.speaksOfSecrets(text) {
                return withhold(text, as: kind.name, error.message)
            }
            return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
        }
    }

    private func read(
        _ text: [UInt8], as kind: NestedKind, _ isCut: Bool
    ) throws(ContentFault) -> [UInt8] {
        switch kind {
        case .json: return try json(text, isCut: isCut)
        case .xml:
            if let xml { return try xml(text, isCut, self) }
        case .propertyList: break
        }
        throw ContentFault("this kind is not parsed")
    }
}

enum Base64 {
    /// Decodes either alphabet without whitespace; nil for other bytes or digits after padding.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var isPadded = false
        for byte in text where byte > 0x20 {
            if byte == UInt8(ascii: "=") {
                isPadded = true
                continue
            }
            guard !isPadded, let value = value(of: byte) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    /// Whether the beginning of a text may be base64 of JSON, XML or a property list.
    static func mayHoldContent(_ text: [UInt8]) -> Bool {
        guard text.count > 4096 else { return text.allSatisfy(isDigitOrBlank) }
        guard let begin = decode(text.prefix(4096)) else { return false }
        let content = begin.drop { $0 <= 0x20 }
        let isTold = content.count > 16 && content.dropFirst().contains { $0 > 0x20 }
        return (!isTold || NestedKind(sniffing: begin) != nil) && text.allSatisfy(isDigitOrBlank)
    }

    static func isDigitOrBlank(_ byte: UInt8) -> Bool {
        value(of: byte) != nil || byte == UInt8(ascii: "=") || (byte <= 0x20 && byte != 0)
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) + 4
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
