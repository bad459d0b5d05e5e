// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The character encoding of some content, for decoding it and encoding it again.
struct TextCoding {
    private enum Units {
        case utf8
        /// One byte per character, with ASCII below 0x80. Other bytes are written back unchanged,
        /// so their meaning does not matter.
        case bytes
        case utf16(isBig: Bool)
    }

    private let units: Units
    private let mark: [UInt8]

    /// Whether characters outside ASCII cannot be added directly.
    var isForeign: Bool {
        if case .bytes = units { return true }
        return false
    }

    /// Whether even ASCII characters take more than one byte.
    var isWide: Bool {
        if case .utf16 = units { return true }
        return false
    }

    // MARK: Reading

    /// Detects the encoding of content.
    ///
    /// The bytes take precedence over a label. If ASCII bytes may have another meaning in an
    /// encoding, its label is refused.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - labels: All declared charsets, from the header field and from the content.
    ///   - isCut: Whether the content was truncated, perhaps within a character.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if a charset is not supported.
    init(of content: [UInt8], labels: [String], isCut: Bool) throws(ClientError) {
        let labels = labels.map { $0.lowercased().filter { !$0.isWhitespace } }
        if let label = labels.first(where: { !Self.isReadable($0, content) }) {
            throw .unreadable("its charset \(Self.shown(label)) is not supported")
        }
        if Self.beginsUTF32(content) { throw .unreadable("UTF-32 is not supported") }
        if let (units, count) = Self.mark(of: content) {
            self.init(units: units, mark: Array(content.prefix(count)))
        } else if let units = Self.unitsByZeros(content) ?? Self.unitsByLabel(labels) {
            self.init(units: units, mark: [])
        } else {
            let whole = isCut ? Self.withoutCutScalar(content[...]) : content[...]
            let isUTF8 = String(validating: whole, as: UTF8.self) != nil
            self.init(units: isUTF8 ? .utf8 : .bytes, mark: [])
        }
    }

    private init(units: Units, mark: [UInt8]) {
        self.units = units
        self.mark = mark
    }

    // The label comes from a peer. So it is shortened and restricted to the characters of charset
    // names.
    private static func shown(_ label: String) -> String {
        String(
            decoding: label.utf8.prefix(20).filter { Grammar.isAlphanumeric($0) || $0 == 0x2D },
            as: UTF8.self)
    }

    private static func isReadable(_ label: String, _ content: [UInt8]) -> Bool {
        let prefixes = [
            "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf16", "ucs-2",
            "iso-8859-", "iso8859", "iso_8859", "latin", "windows-125", "cp125", "windows-874",
            "koi8", "macintosh", "x-mac-", "unicode-1-1-utf-8", "ibm866", "tis-620",
        ]
        if prefixes.contains(where: label.hasPrefix) { return true }
        // In these charsets, an ASCII byte may be the second byte of another character. So they are
        // accepted only if all bytes are ASCII.
        let mixed = [
            "shift", "sjis", "x-sjis", "ms_kanji", "windows-31j", "cp932", "gb", "big5",
            "cp936", "cp949", "cp950", "euc", "ks_c", "ksc", "windows-949", "windows-936", "johab",
        ]
        return mixed.contains(where: label.hasPrefix) && content.allSatisfy { $0 < 0x80 }
    }

    private static func mark(of content: [UInt8]) -> (Units, Int)? {
        if content.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if content.starts(with: [0xFF, 0xFE]) { return (.utf16(isBig: false), 2) }
        if content.starts(with: [0xFE, 0xFF]) { return (.utf16(isBig: true), 2) }
        return nil
    }

    // Detects the width by zero bytes (RFC 4627 §3): JSON begins with ASCII characters.
    private static func unitsByZeros(_ content: [UInt8]) -> Units? {
        switch content.prefix(4).map({ $0 == 0 }) {
        case [true, false, true, false], [true, false]: .utf16(isBig: true)
        case [false, true, false, true], [false, true]: .utf16(isBig: false)
        default: nil
        }
    }

    // The byte order mark of UTF-32, or an ASCII character at the beginning.
    private static func beginsUTF32(_ content: [UInt8]) -> Bool {
        let first = Array(content.prefix(4))
        return [[0xFF, 0xFE, 0, 0], [0, 0, 0xFE, 0xFF]].contains(first)
            || [[true, true, true, false], [false, true, true, true]].contains(
                first.map { $0 == 0 })
    }

    /// Whether content is text in UTF-32, by its label or by all of its characters.
    static func isUTF32(_ content: [UInt8], _ labels: [String]) -> Bool {
        let isNamed = labels.contains { label in
            let name = label.lowercased().filter { $0 != "-" && $0 != "_" && !$0.isWhitespace }
            return name.hasPrefix("utf32") || name.hasPrefix("ucs4")
        }
        if isNamed { return true }
        guard beginsUTF32(content) else { return false }
        // The positions of the two highest bytes of a scalar.
        let (top, next) = content[0] == 0 ? (0, 1) : (3, 2)
        return stride(from: 0, to: content.count - 3, by: 4).allSatisfy {
            content[$0 + top] == 0 && content[$0 + next] <= 0x10
        }
    }

    private static func unitsByLabel(_ labels: [String]) -> Units? {
        for label in labels {
            let name = label.filter { $0 != "-" && $0 != "_" }
            // Without a byte order mark, the text is big-endian (RFC 2781 §4.3).
            if name.hasPrefix("utf16") || name == "ucs2" {
                return .utf16(isBig: !name.hasSuffix("le"))
            }
        }
        return nil
    }

    /// Returns the text in UTF-8, without its byte order mark.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - isCut: Whether the content was truncated, perhaps within a character.
    /// - Returns: The text.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the bytes are not valid.
    func decode(_ content: [UInt8], isCut: Bool) throws(ClientError) -> [UInt8] {
        let body = content.dropFirst(mark.count)
        switch units {
        case .utf8:
            let body = isCut ? Self.withoutCutScalar(body) : body
            // Content with a UTF-8 mark was not validated before.
            guard String(validating: body, as: UTF8.self) != nil else {
                throw .unreadable("it is not valid UTF-8")
            }
            return Array(body)
        case .bytes:
            var text: [UInt8] = []
            text.reserveCapacity(body.count)
            for byte in body {
                if byte < 0x80 {
                    text.append(byte)
                } else {
                    text += [0xC0 | byte >> 6, 0x80 | byte & 0x3F]
                }
            }
            return text
        case .utf16(let isBig): return try Self.utf16(body, isBig, isCut)
        }
    }

    // Drops an incomplete character at the end.
    private static func withoutCutScalar(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let tail = text.suffix(4).lastIndex { $0 & 0xC0 == 0xC0 }
        guard let tail, String(validating: text[tail...], as: UTF8.self) == nil else { return text }
        return text[..<tail]
    }

    private static func utf16(
        _ body: ArraySlice<UInt8>, _ isBig: Bool, _ isCut: Bool
    ) throws(ClientError) -> [UInt8] {
        var units = stride(from: body.startIndex, to: body.endIndex - 1, by: 2).map { start in
            UInt16(body[isBig ? start : start + 1]) << 8 | UInt16(body[isBig ? start + 1 : start])
        }
        if isCut, let last = units.last, (0xD800..<0xDC00).contains(last) { units.removeLast() }
        guard isCut || body.count % 2 == 0,
            let text = String(validating: units, as: UTF16.self)
        else { throw .unreadable("it is not valid UTF-16") }
        return Array(text.utf8)
    }

    // MARK: Writing

    /// Returns the text in this encoding, with the byte order mark of the original.
    func encode(_ text: [UInt8]) -> [UInt8] {
        switch units {
        case .utf8: return mark + text
        case .bytes:
            return String(decoding: text, as: UTF8.self).unicodeScalars.map {
                UInt8(exactly: $0.value) ?? UInt8(ascii: "?")
            }
        case .utf16(let isBig):
            return String(decoding: text, as: UTF8.self).utf16.reduce(into: mark) {
                $0 +=
                    isBig
                    ? [UInt8($1 >> 8), UInt8($1 & 0xFF)] : [UInt8($1 & 0xFF), UInt8($1 >> 8)]
            }
        }
    }
}
