// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

// Methods that skip markup, and methods that read lexical elements.
extension XMLScanner {
    /// Skips the XML declaration (§2.8).
    mutating func skipDeclaration() throws {
        guard byte(after: 5).map(Self.isBlank) == true, skip("<?xml") else { return }
        skipBlanks()
        var isRead = skip("version") && skipDeclared(Self.isVersion)
        var isApart = skipBlanks()
        if isApart, skip("encoding") {
            isRead = skipDeclared(Self.isEncoding) && isRead
            isApart = skipBlanks()
        }
        if isApart, skip("standalone") {
            isRead =
                skipDeclared { $0.elementsEqual("yes".utf8) || $0.elementsEqual("no".utf8) }
                && isRead
            skipBlanks()
        }
        guard isRead, skip("?>") else {
            throw fault("begins with a declaration that cannot be read", at: 0)
        }
    }

    // Skips an equals sign and a quoted value. All allowed values are short. If there is no allowed
    // value, the result is false.
    private mutating func skipDeclared(_ isAllowed: (ArraySlice<UInt8>) -> Bool) -> Bool {
        skipBlanks()
        guard skip("=") else { return false }
        skipBlanks()
        guard let quote = peek(), Self.isQuote(quote) else { return false }
        let rest = bytes[(position + 1)...].prefix(200)
        guard let end = rest.firstIndex(of: quote), isAllowed(rest[..<end]) else { return false }
        position = end + 1
        return true
    }

    // Bytes are compared, because a combining mark may follow each of these characters.
    private static func isVersion(_ value: ArraySlice<UInt8>) -> Bool {
        value.count > 2 && value.starts(with: "1.".utf8) && value.dropFirst(2).allSatisfy(isDigit)
    }

    private static func isEncoding(_ value: ArraySlice<UInt8>) -> Bool {
        value.first.map(isLetter) == true
            && value.allSatisfy { isLetter($0) || isInner($0) || $0 == UInt8(ascii: "_") }
    }

    /// Skips a processing instruction (§2.6).
    mutating func skipInstruction() throws {
        let start = position
        position += 2
        let name = string(try readName())
        if name.lowercased() == "xml" {
            throw fault("has an XML declaration that is not at its beginning", at: start)
        }
        guard peek().map(Self.isBlank) == true || skip("?>", isKept: true) else {
            throw fault("has a processing instruction that cannot be read", at: start)
        }
        try skip(past: "?>", of: "a processing instruction")
    }

    /// Skips the rest of a comment (§2.5).
    mutating func skipComment() throws {
        try skip(past: "--", of: "a comment")
        guard skip(">") else { throw fault("has -- in a comment") }
    }

    /// Skips the rest of a document type (§2.8): the name and the external identifier.
    mutating func skipDocumentType() throws {
        guard skipBlanks() else { throw fault("has a document type that cannot be read") }
        _ = try readName()
        if skipBlanks() {
            if skip("SYSTEM") {
                try skipLiteral()
            } else if skip("PUBLIC") {
                try skipLiteral { byte in
                    Self.isLetter(byte) || Self.isDigit(byte)
                        || " \n-'()+,./:=?;!*#@$_%".utf8.contains(byte)
                }
                try skipLiteral()
            }
        }
        skipBlanks()
        if skip("[") {
            throw fault("declares entities or attributes in its document type, which is rejected")
        }
        guard skip(">") else { throw fault("has a document type that cannot be read") }
    }

    private mutating func skipLiteral(
        of isAllowed: (UInt8) -> Bool = { _ in true }
    ) throws {
        guard skipBlanks(), let quote = peek(), Self.isQuote(quote) else {
            throw fault("has a document type that cannot be read")
        }
        position += 1
        let start = position
        try skip(past: String(Unicode.Scalar(quote)), of: "its document type")
        if let wrong = bytes[start..<position - 1].firstIndex(where: { !isAllowed($0) }) {
            throw fault("has a public identifier with an invalid character", at: wrong)
        }
    }

    // MARK: Lexical elements

    func peek() -> UInt8? { byte(after: 0) }

    func byte(after distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    /// Skips a word, if the word is at the current position.
    mutating func skip(_ word: StaticString, isKept: Bool = false) -> Bool {
        let count = word.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        for offset in 0..<count where unsafe bytes[position + offset] != word.utf8Start[offset] {
            return false
        }
        if !isKept { position += count }
        return true
    }

    /// Skips whitespace, and returns false if there is none.
    @discardableResult
    mutating func skipBlanks() -> Bool {
        let start = position
        while let byte = peek(), Self.isBlank(byte) { position += 1 }
        return position > start
    }

    mutating func skip(past mark: String, of thing: String) throws {
        let start = position
        let mark = Array(mark.utf8)
        while position + mark.count <= bytes.count {
            if bytes[position] == mark[0],
                bytes[position..<position + mark.count].elementsEqual(mark)
            {
                position += mark.count
                return
            }
            position += 1
        }
        throw fault("does not end \(thing)", at: start)
    }

    /// Reads a name (§2.3).
    mutating func readName() throws -> Range<Int> {
        let start = position
        var isASCII = true
        while let byte = peek(), Self.isName(byte) {
            if byte >= 0x80 { isASCII = false }
            position += 1
        }
        let name = start..<position
        guard let first = name.first, !Self.isInner(bytes[first]),
            isASCII || XMLName.isValid(string(name))
        else { throw fault("has an invalid name", at: start) }
        return name
    }

    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    func fault(_ reason: String, at place: Int? = nil) -> ClientError {
        XMLFault.error(reason, at: min(place ?? position, bytes.count), of: bytes)
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x09 }

    static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
    }

    private static func isName(_ byte: UInt8) -> Bool {
        isLetter(byte) || isInner(byte) || byte == 0x5F || byte == 0x3A || byte >= 0x80
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    // A digit, a hyphen or a full stop cannot begin a name.
    private static func isInner(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == 0x2D || byte == 0x2E
    }
}

/// Characters beyond ASCII in names.
private enum XMLName {
    static func isValid(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, isStart(first) else { return false }
        return name.unicodeScalars.allSatisfy { isStart($0) || isInner($0) }
    }

    private static func isStart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x3A, 0x5F, 0x41...0x5A, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF,
            0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF,
            0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    private static func isInner(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2D, 0x2E, 0x30...0x39, 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: false
        }
    }
}
