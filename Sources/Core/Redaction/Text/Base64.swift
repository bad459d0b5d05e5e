// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648 §4) of bytes.
enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the digits without padding.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 8 + 5) / 6)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> UInt32(count)) & 63])
            }
        }
        if count > 0 { text.append(digits[Int(bits << UInt32(6 - count)) & 63]) }
        return text
    }

    /// Decodes either alphabet, ignoring whitespace.
    ///
    /// Returns nil if a byte is not a digit, or follows padding.
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

    /// Whether a text is base64 that may contain content of a parsed kind.
    ///
    /// Long texts are judged by their beginning.
    static func mayHoldContent(_ text: [UInt8]) -> Bool {
        guard text.count > 4096 else { return text.allSatisfy(isDigitOrBlank) }
        guard let begin = decode(text.prefix(4096)) else { return false }
        let content = begin.drop { $0 <= 0x20 }
        // The kind shows in the first byte and in the first one that follows an opening bracket.
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
