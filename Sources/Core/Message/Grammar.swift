import Foundation

/// The character rules of RFC 9110 §5.6 that more than one message type needs.
package enum Grammar {
    /// Whether every byte is a `tchar` (RFC 9110 §5.6.2) and there is at least one.
    package static func isToken(_ text: String) -> Bool {
        var seen = false
        for byte in text.utf8 {
            guard isTokenByte(byte) else { return false }
            seen = true
        }
        return seen
    }

    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
            UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
            UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// The position of the first byte that a field value may not hold (RFC 9110 §5.5), or nil.
    ///
    /// HTAB and bytes above 0x7F (UTF-8 here) are allowed; every other control character is not.
    package static func firstIllegalValueByte(_ value: String) -> Int? {
        var position = 0
        for byte in value.utf8 {
            if (byte < 0x20 && byte != 0x09) || byte == 0x7F { return position }
            position += 1
        }
        return nil
    }

    /// The text without leading and trailing blanks (SP and HTAB).
    package static func trimmed(_ text: String) -> String {
        let utf8 = text.utf8
        guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else {
            return text
        }
        return String(trimmed(text[...]))
    }

    /// The text without leading and trailing blanks (SP and HTAB).
    package static func trimmed(_ text: Substring) -> Substring {
        var rest = text.utf8
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return Substring(rest)
    }

    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether two texts are equal when the case of ASCII letters is ignored.
    @inline(__always)
    package static func equalsIgnoringCase(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && areEqualIgnoringCase(left, right)
    }

    private static func areEqualIgnoringCase(_ left: String, _ right: String) -> Bool {
        // Each name of each message comes by here: bytes cost a fifth of what a text's iterator does.
        let isEqual = unsafe left.utf8.withContiguousStorageIfAvailable { left in
            unsafe right.utf8.withContiguousStorageIfAvailable { right in
                unsafe areEqualIgnoringCase(left, right)
            }
        }
        return (isEqual ?? nil) ?? areEqualIgnoringCase(left.utf8, right.utf8)
    }

    /// Whether two texts are the same bytes.
    ///
    /// `==` takes for the same what only looks the same: a letter with an accent, and a letter with
    /// an accent behind it. To a peer these are two.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        let isSame = unsafe left.withContiguousStorageIfAvailable { left in
            unsafe right.withContiguousStorageIfAvailable { right in
                unsafe UnsafeRawBufferPointer(left).isSame(as: UnsafeRawBufferPointer(right))
            }
        }
        // What came from Objective-C may be in pieces.
        return (isSame ?? nil) ?? left.elementsEqual(right)
    }

    /// Whether two texts are the same bytes, or neither is there.
    package static func areSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return areSame(left, right)
    }

    // Of as many bytes each.
    private static func areEqualIgnoringCase(
        _ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>
    ) -> Bool {
        var other = right.makeIterator()
        for byte in left {
            guard let second = other.next() else { return false }
            if byte != second, lowercased(byte) != lowercased(second) { return false }
        }
        return true
    }

    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    package static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    package static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || lowercased(byte) &- UInt8(ascii: "a") < 6
    }

    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || lowercased(byte) &- UInt8(ascii: "a") < 26
    }

    /// Splits at a separator outside quoted strings (RFC 9110 §5.6.4).
    package static func split(_ text: Substring, at separator: UInt8) -> [Substring] {
        let utf8 = text.utf8
        var parts: [Substring] = []
        var start = text.startIndex
        var quoted = false
        var escaped = false
        var position = 0
        var last = 0
        for byte in utf8 {
            if escaped {
                escaped = false
            } else if quoted, byte == UInt8(ascii: "\\") {
                escaped = true
            } else if byte == UInt8(ascii: "\"") {
                quoted.toggle()
            } else if byte == separator, !quoted {
                // Indices cost more than bytes do: they are made where they are needed.
                let end = utf8.index(start, offsetBy: position - last)
                parts.append(text[start..<end])
                start = utf8.index(after: end)
                last = position + 1
            }
            position += 1
        }
        parts.append(text[start...])
        return parts
    }

    /// The content of a quoted string (RFC 9110 §5.6.4), or the text where it is none.
    package static func unquoted(_ text: Substring) -> String {
        // Scalars, for a quote and a mark behind it are one character.
        guard text.unicodeScalars.first == "\"" else { return String(text) }
        var value = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in text.unicodeScalars.dropFirst() {
            if isEscaped {
                value.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                break
            } else {
                value.append(scalar)
            }
        }
        return String(value)
    }

    /// A text as a quoted string.
    static func quoted(_ text: String) -> String {
        var value = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { value.unicodeScalars.append("\\") }
            value.unicodeScalars.append(scalar)
        }
        return value + "\""
    }

    /// The text with control characters written as escapes, so that it cannot forge a line of a
    /// log.
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The beginning of a text, escaped, of so many bytes at most before that.
    ///
    /// Not of so many characters: one has as many marks as somebody likes to put behind it.
    package static func escaped(_ text: String, upTo limit: Int) -> String {
        escaped(beginning(of: text, upTo: limit))
    }

    /// The beginning of a text, of so many bytes at most.
    package static func beginning(of text: String, upTo limit: Int) -> String {
        if text.utf8.count <= limit { return text }
        var room = limit
        let start = text.unicodeScalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(Substring(start))
    }

    // C0, DEL, C1, and the separators and direction marks that a terminal obeys.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension UnsafeRawBufferPointer {
    // Of as many bytes each.
    fileprivate func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard let start = baseAddress, let other = other.baseAddress else { return true }
        return unsafe memcmp(start, other, count) == 0
    }
}
