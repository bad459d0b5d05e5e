// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// The header section of a part of multipart content, with the positions of its fields.
struct PartHead {
    struct Field {
        let name: ArraySlice<UInt8>
        /// The value without surrounding whitespace; includes continuation lines.
        let value: ArraySlice<UInt8>
    }

    let fields: [Field]
    /// The position after the empty line.
    let end: Int
    /// Whether the empty line was found.
    let isWhole: Bool

    /// Reads field lines up to the empty line or the end of the bytes.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if a line is not a field line.
    init(_ bytes: ArraySlice<UInt8>) throws(ClientError) {
        var fields: [Field] = []
        var position = bytes.startIndex
        while true {
            let line = Self.line(bytes, position)
            if line.isEmpty || line.startIndex == bytes.endIndex {
                self.fields = fields
                end = Self.behind(line, bytes)
                isWhole = line.startIndex < bytes.endIndex
                return
            }
            var last = line
            // A line that begins with whitespace continues the previous line (RFC 9112 §5.2).
            var next = Self.behind(line, bytes)
            while next < bytes.endIndex, Grammar.isBlank(bytes[next]) {
                last = Self.line(bytes, next)
                next = Self.behind(last, bytes)
            }
            let field = bytes[line.startIndex..<last.endIndex]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(Grammar.isTokenByte)
            else {
                throw .unreadable("a field line is invalid", at: line.startIndex - bytes.startIndex)
            }
            var value = field[(colon + 1)...]
            while let first = value.first, first <= 0x20 { value = value.dropFirst() }
            while let last = value.last, last <= 0x20 { value = value.dropLast() }
            fields.append(Field(name: line[..<colon], value: value))
            position = next
        }
    }

    // Returns the line without CRLF or LF.
    private static func line(_ bytes: ArraySlice<UInt8>, _ start: Int) -> ArraySlice<UInt8> {
        let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.endIndex
        let isPair = end > start && end < bytes.endIndex && bytes[end - 1] == 0x0D
        return bytes[start..<(isPair ? end - 1 : end)]
    }

    private static func behind(_ line: ArraySlice<UInt8>, _ bytes: ArraySlice<UInt8>) -> Int {
        let end = bytes[line.endIndex...].firstIndex(of: 0x0A) ?? bytes.endIndex
        return min(end + 1, bytes.endIndex)
    }

    /// Returns the values of a field in order, each on one line.
    func values(_ name: String) -> [String] {
        fields.filter { $0.name.map(Grammar.lowercased).elementsEqual(name.utf8) }.map { field in
            String(decoding: field.value.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }
    }

    /// Returns the head with the values of secret fields hidden.
    func redacted(_ bytes: ArraySlice<UInt8>, in pass: RedactionPass) -> [UInt8] {
        var shown: [UInt8] = []
        var copied = bytes.startIndex
        for field in fields {
            let name = HTTPHeaders.Name(String(decoding: field.name, as: UTF8.self))
            let value = pass.header(name, String(decoding: field.value, as: UTF8.self))
            if value.utf8.elementsEqual(field.value) { continue }
            shown += bytes[copied..<field.value.startIndex] + value.utf8
            copied = field.value.endIndex
        }
        return shown + bytes[copied..<end]
    }
}

/// The content of a part, which may have a transfer encoding.
enum PartContent {
    static func redacted(
        _ content: [UInt8], types: [String], transfer: String?, isCut: Bool,
        in contents: ContentRedactor
    ) -> [UInt8] {
        if content.isEmpty { return content }
        switch transfer?.lowercased() {
        case nil, "", "7bit", "8bit", "binary":
            return contents.content(content, types: types, isCut: isCut)
        case "base64":
            guard let plain = base64(content) else { break }
            let shown = contents.content(plain, types: types, isCut: isCut)
            return shown == plain ? content : Array(Data(shown).base64EncodedData())
        case "quoted-printable":
            guard let plain = quotedPrintable(content) else { break }
            let shown = contents.content(plain, types: types, isCut: isCut)
            return shown == plain ? content : shown.flatMap(quoted)
        default: break
        }
        return contents.withhold(content, as: "content", "its transfer encoding is not supported")
    }

    // RFC 2045 §6.8; lines and missing padding do not matter.
    static func base64(_ text: [UInt8]) -> [UInt8]? {
        var digits = text.filter { $0 > 0x20 }
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        return Data(base64Encoded: Data(digits + padding)).map(Array.init)
    }

    // RFC 2045 §6.7.
    static func quotedPrintable(_ text: [UInt8]) -> [UInt8]? {
        var plain: [UInt8] = []
        var position = 0
        while position < text.count {
            guard text[position] == UInt8(ascii: "=") else {
                plain.append(text[position])
                position += 1
                continue
            }
            let rest = text[(position + 1)...]
            if rest.starts(with: "\r\n".utf8) {
                position += 3
            } else if rest.first == 0x0A {
                position += 2
            } else if let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.count >= 2
            {
                plain.append(value)
                position += 3
            } else {
                return nil
            }
        }
        return plain
    }

    private static func quoted(_ byte: UInt8) -> [UInt8] {
        if byte == 0x0A || byte == 0x0D || (byte >= 0x20 && byte < 0x7F && byte != 0x3D) {
            return [byte]
        }
        let digits = String(byte, radix: 16, uppercase: true)
        return Array(("=" + (digits.count < 2 ? "0" : "") + digits).utf8)
    }
}
