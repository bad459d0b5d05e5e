// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSerializers
import TurnpikeSupport

/// The characters of a document in UTF-8, with LF in place of each line ending (XML 1.0 §2.2,
/// §2.11).
enum XMLText {
    // Decodes content. The encoding comes from the byte order mark, else from the `charset` of the
    // `Content-Type`, else from the XML declaration, else it is UTF-8 (RFC 7303 §3).
    static func bytes(of content: Data, charset label: String?) throws -> [UInt8] {
        if content.isEmpty { throw XMLFault.error("is empty") }
        let (charset, start) = try encoding(of: content, label)
        guard let text = charset.decode(content.dropFirst(start)) else {
            throw XMLFault.error("has bytes that are not valid in its encoding")
        }
        var bytes = Array(text.utf8)
        try checkCharacters(of: bytes)
        if bytes.contains(0x0D) { bytes = normalizingLineEnds(of: bytes) }
        return bytes
    }

    private static func encoding(
        of content: Data, _ label: String?
    ) throws -> (charset: Charset, start: Int) {
        if let (charset, length) = Charset.byteOrderMark(of: content) { return (charset, length) }
        guard let label = try label ?? declaredEncoding(of: content) else {
            return (.foundation(.utf8), 0)
        }
        guard let charset = Charset(label: label) else {
            throw XMLFault.error(
                "is in the encoding \(Grammar.escaped(label, upTo: 40)), which is not supported")
        }
        return (charset, 0)
    }

    // Returns the encoding in the XML declaration. The declaration must end within the first 200
    // bytes, because all its allowed parts are short.
    private static func declaredEncoding(of content: Data) throws -> String? {
        let start = content.prefix(200)
        // The name of another instruction may begin with `xml`, such as `xml-stylesheet`.
        guard start.starts(with: "<?xml".utf8), let blank = start.dropFirst(5).first, blank <= 0x20
        else { return nil }
        guard let end = start.firstRange(of: Data("?>".utf8)) else {
            throw XMLFault.error(
                "has a declaration that does not end within 200 bytes", at: 0, of: [])
        }
        let text = String(decoding: start[..<end.lowerBound], as: UTF8.self)
        guard let match = text.firstMatch(of: /\sencoding\s*=\s*["']([^"']*)["']/) else {
            return nil
        }
        return String(match.1)
    }

    private static func checkCharacters(of bytes: [UInt8]) throws {
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            // U+FFFE and U+FFFF are the only other characters that XML does not allow.
            let isNone =
                byte < 0x20 && byte != 0x0A && byte != 0x09 && byte != 0x0D
                || byte == 0xEF && bytes[position + 1] == 0xBF && bytes[position + 2] >= 0xBE
            if isNone {
                throw XMLFault.error(
                    "has a character that XML does not allow", at: position, of: bytes)
            }
            position += 1
        }
    }

    private static func normalizingLineEnds(of bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var isBehindReturn = false
        for byte in bytes {
            if byte == 0x0D {
                result.append(0x0A)
            } else if byte != 0x0A || !isBehindReturn {
                result.append(byte)
            }
            isBehindReturn = byte == 0x0D
        }
        return result
    }
}

enum XMLFault {
    static func error(_ reason: String) -> ClientError {
        ClientError(.serialization, "the XML document \(reason)")
    }

    static func error(_ reason: String, at position: Int, of bytes: [UInt8]) -> ClientError {
        let before = bytes[..<position]
        let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return error("\(reason): line \(line), column \(position - start + 1)")
    }
}

// Methods that read text and attribute values.
extension XMLScanner {
    /// Reads text up to the next markup and resolves references.
    mutating func readCharacters() throws {
        var start = position
        while let byte = peek(), byte != UInt8(ascii: "<") {
            if byte == UInt8(ascii: "&") {
                text += bytes[start..<position]
                text.append(contentsOf: try readReference())
                start = position
                continue
            }
            // `]]>` is allowed only at the end of a CDATA section (§2.4).
            if byte == UInt8(ascii: ">"), position >= start + 2, bytes[position - 1] == 0x5D,
                bytes[position - 2] == 0x5D
            {
                throw fault("has ]]> in its text")
            }
            position += 1
        }
        text += bytes[start..<position]
    }

    /// Reads the rest of a CDATA section without changes.
    mutating func readCharacterData() throws {
        let start = position
        try skip(past: "]]>", of: "a CDATA section")
        text += bytes[start..<position - 3]
    }

    /// Reads a quoted value, resolves references and replaces whitespace by spaces (§3.3.3).
    mutating func readAttributeValue() throws -> String {
        guard let quote = peek(), Self.isQuote(quote) else {
            throw fault("has an attribute without quotes around its value")
        }
        position += 1
        var value: [UInt8] = []
        while let byte = peek() {
            switch byte {
            case quote:
                position += 1
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "<"): throw fault("has < in the value of an attribute")
            case UInt8(ascii: "&"): value.append(contentsOf: try readReference())
            default:
                value.append(byte == 0x0A || byte == 0x09 ? 0x20 : byte)
                position += 1
            }
        }
        throw fault("has an attribute whose value does not end")
    }

    // Reads a reference to a character or to one of the five predefined entities (§4.1).
    private mutating func readReference() throws -> String.UTF8View {
        let start = position
        position += 1
        if skip("#") { return String(try readNumber(from: start)).utf8 }
        let name = try readName()
        guard skip(";") else { throw fault("has a reference without ;", at: start) }
        switch string(name) {
        case "lt": return "<".utf8
        case "gt": return ">".utf8
        case "amp": return "&".utf8
        case "apos": return "'".utf8
        case "quot": return "\"".utf8
        case let name:
            throw fault(
                "refers to the entity \(Grammar.escaped(name, upTo: 40)), which is not defined",
                at: start)
        }
    }

    private mutating func readNumber(from start: Int) throws -> Unicode.Scalar {
        let radix: UInt32 = skip("x") ? 16 : 10
        var value: UInt32 = 0
        let first = position
        while let digit = peek().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }),
            digit < radix
        {
            // The value stops above the last Unicode scalar, and therefore cannot overflow.
            value = min(value * radix + UInt32(digit), 0x11_0000)
            position += 1
        }
        let isCharacter =
            value >= 0x20 && value != 0xFFFE && value != 0xFFFF
            || value == 0x09 || value == 0x0A || value == 0x0D
        guard position > first, skip(";"), isCharacter, let scalar = Unicode.Scalar(value) else {
            throw fault("has a reference to an invalid character", at: start)
        }
        return scalar
    }
}
