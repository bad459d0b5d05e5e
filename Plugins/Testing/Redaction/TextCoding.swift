// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The character encoding of content, except UTF-16 and UTF-32.
struct TextCoding {
    // Whether each byte is a character, with ASCII below 0x80. If false, the encoding is UTF-8.
    //
    // Bytes above 0x7F are written back unchanged. The meaning of these characters is not needed.
    let isForeign: Bool
    private let mark: [UInt8]

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Detects the encoding of content, which may end within a character if `isCut` is true.
    ///
    /// The bytes have priority over a label. If ASCII bytes may have another meaning in an
    /// encoding, the label of this encoding is refused.
    init(of content: [UInt8], labels: [String], isCut: Bool) throws(ClientError) {
        let labels = labels.map { $0.lowercased().filter { !$0.isWhitespace } }
        if let label = labels.first(where: { !Self.isReadable($0, content) }) {
            throw .unreadable("its charset \(Self.shown(label)) is not supported")
        }
        if Self.isWide(content, []) { throw .unreadable("UTF-16 and UTF-32 are not supported") }
        let hasMark = content.starts(with: Self.byteOrderMark)
        mark = hasMark ? Self.byteOrderMark : []
        let whole = isCut ? Self.withoutCutScalar(content[...]) : content[...]
        isForeign = !hasMark && String(validating: whole, as: UTF8.self) == nil
    }

    // A peer chooses the label. Only the start is shown, without unusual characters.
    private static func shown(_ label: String) -> String {
        String(
            decoding: label.utf8.prefix(20).filter { Grammar.isAlphanumeric($0) || $0 == 0x2D },
            as: UTF8.self)
    }

    private static func isReadable(_ label: String, _ content: [UInt8]) -> Bool {
        let prefixes = [
            "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "iso8859", "iso_8859", "latin",
            "windows-125", "cp125", "windows-874", "koi8", "macintosh", "x-mac-",
            "unicode-1-1-utf-8", "ibm866", "tis-620",
        ]
        if prefixes.contains(where: label.hasPrefix) { return true }
        // In these charsets, an ASCII byte may be the second byte of another character. These
        // charsets are accepted only if all bytes are ASCII.
        let mixed = [
            "shift", "sjis", "x-sjis", "ms_kanji", "windows-31j", "cp932", "gb", "big5",
            "cp936", "cp949", "cp950", "euc", "ks_c", "ksc", "windows-949", "windows-936", "johab",
        ]
        return mixed.contains(where: label.hasPrefix) && content.allSatisfy { $0 < 0x80 }
    }

    // Whether content is text in UTF-16 or UTF-32. The signs are a label, a byte order mark, and
    // zeros beside an ASCII character at the beginning (RFC 4627 §3).
    static func isWide(_ content: [UInt8], _ labels: [String]) -> Bool {
        let names = labels.map { $0.lowercased().filter { $0 != "-" && $0 != "_" } }
        if names.contains(where: { $0.hasPrefix("utf16") || $0.hasPrefix("utf32") }) { return true }
        if names.contains(where: { $0.hasPrefix("ucs") }) { return true }
        let first = Array(content.prefix(4))
        if first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) { return true }
        if first == [0, 0, 0xFE, 0xFF] { return true }
        switch first.map({ $0 == 0 }) {
        case [true, false, true, false], [true, false], [false, true, false, true], [false, true],
            [true, true, true, false], [false, true, true, true]:
            return true
        default: return false
        }
    }

    /// Returns the text in UTF-8 without a byte order mark, or throws an error for invalid bytes.
    func decode(_ content: [UInt8], isCut: Bool) throws(ClientError) -> [UInt8] {
        if isForeign {
            return content.flatMap {
                $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F]
            }
        }
        let body = content.dropFirst(mark.count)
        let whole = isCut ? Self.withoutCutScalar(body) : body
        // Content with a byte order mark was not validated before.
        guard String(validating: whole, as: UTF8.self) != nil else {
            throw .unreadable("it is not valid UTF-8")
        }
        return Array(whole)
    }

    private static func withoutCutScalar(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let tail = text.suffix(4).lastIndex { $0 & 0xC0 == 0xC0 }
        guard let tail, String(validating: text[tail...], as: UTF8.self) == nil else { return text }
        return text[..<tail]
    }

    /// Returns the text in this encoding, with the byte order mark of the original.
    func encode(_ text: [UInt8]) -> [UInt8] {
        guard isForeign else { return mark + text }
        return String(decoding: text, as: UTF8.self).unicodeScalars.map {
            UInt8(exactly: $0.value) ?? UInt8(ascii: "?")
        }
    }
}
