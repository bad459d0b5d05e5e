/// A text as it is meant on one level of escapes, and where each of its bytes stands in the source.
///
/// A URL in a query of a URL in a string of JSON is escaped three times. What holds on each level is
/// looked for in a text of its own, and hidden in the source.
struct Spelling {
    let bytes: [UInt8]
    // Of each byte, and of the end; nil where this is the source itself.
    private let origins: [Int32]?

    /// The source itself.
    init(_ source: [UInt8]) {
        bytes = source
        origins = nil
    }

    private init(_ bytes: [UInt8], _ origins: [Int32]) {
        self.bytes = bytes
        self.origins = origins
    }

    /// What a range of this text is in the source.
    func source(of range: Range<Int>) -> Range<Int> {
        guard let origins else { return range }
        return Int(origins[range.lowerBound])..<Int(origins[range.upperBound])
    }

    /// How often a text is read anew without its escapes; what has more is packed to be hidden.
    static let maxLevels = 6

    // MARK: Other spellings

    /// The text without one level of escapes, or nil where it has none: `%2F`, `\/`, `\u002f`,
    /// `&#47;` and the like, whatever it is that holds the text.
    func unescaped() -> Spelling? {
        guard let first = bytes.firstIndex(where: Self.beginsEscape) else { return nil }
        var text = Array(bytes[..<first])
        var origins = (0..<first).map { origin(of: $0) }
        var position = first
        var isChanged = false
        while position < bytes.count {
            let start = position
            let escape = Escape(bytes, at: position)
            position += escape?.count ?? 1
            isChanged = isChanged || escape != nil
            let count = text.count
            if let escape { escape.write(to: &text) } else { text.append(bytes[start]) }
            origins.append(contentsOf: repeatElement(origin(of: start), count: text.count - count))
        }
        origins.append(origin(of: bytes.count))
        return isChanged ? Spelling(text, origins) : nil
    }

    /// The text without the bytes that are zero, or nil where it has none: UTF-16 as ASCII.
    func withoutZeros() -> Spelling? {
        guard bytes.contains(0) else { return nil }
        return kept { $0 != 0 }
    }

    /// The text without line ends and the blanks behind them, or nil where it has none: base64 in
    /// lines.
    func withoutLineEnds() -> Spelling? {
        guard bytes.contains(where: Self.isLineEnd) else { return nil }
        var isBehindLineEnd = false
        return kept { byte in
            isBehindLineEnd = Self.isLineEnd(byte) || (isBehindLineEnd && Grammar.isBlank(byte))
            return !isBehindLineEnd
        }
    }

    private func kept(_ isKept: (UInt8) -> Bool) -> Spelling {
        var text: [UInt8] = []
        var origins: [Int32] = []
        text.reserveCapacity(bytes.count)
        origins.reserveCapacity(bytes.count + 1)
        for (position, byte) in bytes.enumerated() where isKept(byte) {
            text.append(byte)
            origins.append(origin(of: position))
        }
        origins.append(origin(of: bytes.count))
        return Spelling(text, origins)
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    private func origin(of position: Int) -> Int32 { origins?[position] ?? Int32(position) }

    /// Whether a byte may begin an escape.
    static func beginsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "&")
    }

    /// The text with the entities and character references of XML resolved.
    func withoutEntities() -> [UInt8] {
        var text: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "&"), let escape = Escape(bytes, at: position) {
                escape.write(to: &text)
                position += escape.count
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        return text
    }

    /// Bytes without one level of escapes, or nil where they have none.
    static func unescaped(_ bytes: [UInt8]) -> [UInt8]? { Spelling(bytes).unescaped()?.bytes }
}

/// One escape: of URLs, of JSON and JavaScript, of HTML and XML.
private struct Escape {
    let count: Int
    private let scalar: Unicode.Scalar?
    private let byte: UInt8

    init?(_ bytes: [UInt8], at start: Int) {
        switch bytes[start] {
        case UInt8(ascii: "%"):
            if let byte = Self.hex(bytes, start + 1, 2) {
                self.init(3, byte: UInt8(byte))
            } else if start + 1 < bytes.count, bytes[start + 1] == UInt8(ascii: "u"),
                let value = Self.hex(bytes, start + 2, 4), let scalar = Unicode.Scalar(value)
            {
                self.init(6, scalar)
            } else {
                return nil
            }
        case UInt8(ascii: "\\"): self.init(backslash: bytes, start)
        case UInt8(ascii: "&"): self.init(entity: bytes, start)
        default: return nil
        }
    }

    private init(_ count: Int, byte: UInt8) {
        self.count = count
        self.byte = byte
        scalar = nil
    }

    private init(_ count: Int, _ scalar: Unicode.Scalar) {
        self.count = count
        self.scalar = scalar
        byte = 0
    }

    private init?(backslash bytes: [UInt8], _ start: Int) {
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"):
            self.init(2, byte: bytes[start + 1])
        case UInt8(ascii: "n"), UInt8(ascii: "r"): self.init(2, byte: 0x0A)
        case UInt8(ascii: "t"): self.init(2, byte: 0x09)
        case UInt8(ascii: "x"):
            guard let value = Self.hex(bytes, start + 2, 2) else { return nil }
            self.init(4, Unicode.Scalar(UInt8(value)))
        case UInt8(ascii: "u"): self.init(unicode: bytes, start)
        default: return nil
        }
    }

    private init?(unicode bytes: [UInt8], _ start: Int) {
        if start + 2 < bytes.count, bytes[start + 2] == UInt8(ascii: "{") {
            let digits = bytes[(start + 3)...].prefix(6).prefix(while: Grammar.isHexDigit).count
            guard digits > 0, start + 3 + digits < bytes.count,
                bytes[start + 3 + digits] == UInt8(ascii: "}"),
                let value = Self.hex(bytes, start + 3, digits), let scalar = Unicode.Scalar(value)
            else { return nil }
            self.init(digits + 4, scalar)
            return
        }
        guard let high = Self.hex(bytes, start + 2, 4) else { return nil }
        if let scalar = Unicode.Scalar(high) {
            self.init(6, scalar)
        } else if high < 0xDC00, bytes[(start + 6)...].starts(with: "\\u".utf8),
            let low = Self.hex(bytes, start + 8, 4), (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        {
            self.init(12, scalar)
        } else {
            return nil
        }
    }

    private init?(entity bytes: [UInt8], _ start: Int) {
        let name = bytes[(start + 1)...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
        guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";") else {
            return nil
        }
        let count = name.count + 2
        if name.first == UInt8(ascii: "#") {
            let digits = name.dropFirst()
            let isHex = digits.first.map(Grammar.lowercased) == UInt8(ascii: "x")
            let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
            guard let value = UInt32(text, radix: isHex ? 16 : 10),
                let scalar = Unicode.Scalar(value)
            else { return nil }
            self.init(count, scalar)
        } else if let byte = Self.entities[Array(name)] {
            self.init(count, byte: byte)
        } else {
            return nil
        }
    }

    private static let entities: [[UInt8]: UInt8] = Dictionary(
        uniqueKeysWithValues: [
            ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("sol", "/"),
            ("colon", ":"), ("commat", "@"), ("equals", "="), ("quest", "?"), ("num", "#"),
        ].map { (name: String, scalar: Unicode.Scalar) in (Array(name.utf8), UInt8(ascii: scalar)) }
    )

    private static func hex(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt32? {
        guard start + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[start..<start + count] {
            guard Grammar.isHexDigit(byte) else { return nil }
            let digit = Grammar.isDigit(byte) ? byte &- 0x30 : Grammar.lowercased(byte) &- 0x57
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    func write(to bytes: inout [UInt8]) {
        if let scalar { bytes += String(scalar).utf8 } else { bytes.append(byte) }
    }
}
