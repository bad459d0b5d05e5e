// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One escape sequence of URLs, JSON, JavaScript, HTML or XML.
struct Escape {
    let count: Int
    private let scalar: Unicode.Scalar?
    private let byte: UInt8

    private var ascii: UInt8 { scalar.map { UInt8(truncatingIfNeeded: $0.value) } ?? byte }

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
        for place in start..<(start + count) {
            let byte = bytes[place]
            guard Grammar.isHexDigit(byte) else { return nil }
            let digit = Grammar.isDigit(byte) ? byte &- 0x30 : Grammar.lowercased(byte) &- 0x57
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    func write(to bytes: inout [UInt8]) {
        guard let scalar, scalar.value >= 0x80 else { return bytes.append(ascii) }
        bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
}
