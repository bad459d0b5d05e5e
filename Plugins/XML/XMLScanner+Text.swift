// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// Text and attribute values.
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
            // `]]>` is only allowed at the end of a CDATA section (§2.4).
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
            // Clamped beyond the last Unicode scalar to prevent an overflow.
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
