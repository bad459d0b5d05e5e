// SPDX-License-Identifier: Apache-2.0

/// Character rules of RFC 9110 §5.6 that several message types share.
///
/// The tests of single bytes are inlinable, because inner loops of other modules use them.
public enum Grammar {
    /// Whether the text has at least one byte and all bytes are `tchar` (RFC 9110 §5.6.2).
    public static func isToken(_ text: String) -> Bool {
        unsafe text.withBytes { unsafe !$0.isEmpty && $0.allSatisfy(isTokenByte) }
    }

    /// Whether a byte is allowed in a token (RFC 9110 §5.6.2).
    @inlinable public static func isTokenByte(_ byte: UInt8) -> Bool {
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

    /// The position of the first byte that is not allowed in a field value (RFC 9110 §5.5), or nil.
    ///
    /// HTAB and bytes above 0x7F (here UTF-8) are allowed; other control characters are not
    /// allowed.
    public static func firstIllegalValueByte(_ value: String) -> Int? {
        unsafe value.withBytes { bytes in
            unsafe bytes.firstIndex { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }
        }
    }

    /// Returns the text without leading and trailing whitespace (SP and HTAB).
    public static func trimmed(_ text: String) -> String {
        let isTrimmed = unsafe text.withBytes { bytes in
            unsafe bytes.isEmpty || !isBlank(bytes[0]) && !isBlank(bytes[bytes.count - 1])
        }
        return isTrimmed ? text : String(trimmed(text[...]))
    }

    /// Returns the text without leading and trailing whitespace (SP and HTAB).
    public static func trimmed(_ text: Substring) -> Substring {
        var rest = text.utf8
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return Substring(rest)
    }

    /// Whether a byte is SP or HTAB (RFC 9110 §5.6.3).
    @inlinable public static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether two texts are equal, ignoring the case of ASCII letters.
    @inlinable
    @inline(__always)
    public static func equalsIgnoringCase(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && areEqualIgnoringCase(left, right)
    }

    @usableFromInline
    static func areEqualIgnoringCase(_ left: String, _ right: String) -> Bool {
        // The method runs for each field name of each message. A loop over bytes takes a fifth of
        // the time of a string iterator.
        let isEqual = unsafe left.utf8.withContiguousStorageIfAvailable { left in
            unsafe right.utf8.withContiguousStorageIfAvailable { right in
                unsafe areEqualIgnoringCase(left, right)
            }
        }
        return (isEqual ?? nil) ?? areEqualIgnoringCase(left.utf8, right.utf8)
    }

    /// Whether two texts have the same bytes.
    ///
    /// `==` treats canonically equivalent texts as equal, for example a letter with an accent and
    /// the same letter before a combining accent. For a peer, such texts are different.
    public static func areSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        let isSame = unsafe left.withContiguousStorageIfAvailable { left in
            unsafe right.withContiguousStorageIfAvailable { right in
                unsafe UnsafeRawBufferPointer(left).isSame(as: UnsafeRawBufferPointer(right))
            }
        }
        // The bytes of a string from Objective-C may be in several pieces.
        return (isSame ?? nil) ?? left.elementsEqual(right)
    }

    /// Whether two texts have the same bytes, or both are nil.
    public static func areSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return areSame(left, right)
    }

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

    /// Returns a byte; an ASCII letter becomes lower case.
    @inlinable public static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// Whether a byte is an ASCII digit.
    @inlinable public static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// Whether a byte is a hexadecimal digit in ASCII.
    @inlinable public static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || lowercased(byte) &- UInt8(ascii: "a") < 6
    }

    /// Whether a byte is an ASCII letter or digit.
    @inlinable public static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || lowercased(byte) &- UInt8(ascii: "a") < 26
    }

    /// Splits a text at a separator, ignoring separators in quoted strings (RFC 9110 §5.6.4).
    public static func split(_ text: Substring, at separator: UInt8) -> [Substring] {
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
                // String indices cost more than byte positions, and are created only at separators.
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

    /// Returns the content of a quoted string (RFC 9110 §5.6.4), or other text unchanged.
    public static func unquoted(_ text: Substring) -> String {
        // The code compares scalars, because a quote and a combining mark form one character.
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

    /// Returns the text as a quoted string.
    public static func quoted(_ text: String) -> String {
        var value = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { value.unicodeScalars.append("\\") }
            value.unicodeScalars.append(scalar)
        }
        return value + "\""
    }

    /// Returns the text with escaped control characters, which could otherwise forge a log line.
    public static func escaped(_ text: String) -> String {
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

    /// Returns the beginning of a text, escaped, with at most `limit` bytes before escaping.
    ///
    /// The limit counts bytes, because one character may have any number of combining marks.
    public static func escaped(_ text: String, upTo limit: Int) -> String {
        escaped(beginning(of: text, upTo: limit))
    }

    /// Returns the beginning of a text with at most `limit` bytes.
    public static func beginning(of text: String, upTo limit: Int) -> String {
        if text.utf8.count <= limit { return text }
        var room = limit
        let start = text.unicodeScalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(Substring(start))
    }

    // C0, DEL, C1, line and paragraph separators, and the direction marks that terminals apply.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    // Calls a closure with the bytes, without the copy of the text that `withUTF8` makes.
    fileprivate func withBytes<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        if let value = unsafe utf8.withContiguousStorageIfAvailable(body) { return value }
        // The bytes of a string from Objective-C may be in several pieces.
        var text = self
        return text.withUTF8(body)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard let start = baseAddress, let other = other.baseAddress else { return true }
        return unsafe memcmp(start, other, count) == 0
    }
}

/// A part of a `Cookie` or `Set-Cookie` line, between two semicolons.
public struct CookieItem: Sendable, Hashable {
    /// The name, or the whole text if there is no equals sign.
    public let name: String
    /// The value, or nil if there is no equals sign.
    public let value: String?

    private init(_ piece: Substring.UTF8View) {
        let equals = piece.firstIndex(of: UInt8(ascii: "="))
        name = String(Grammar.trimmed(Substring(piece[..<(equals ?? piece.endIndex)])))
        value = equals.map {
            String(Grammar.trimmed(Substring(piece[piece.index(after: $0)...])))
        }
    }

    /// Returns all parts of a line, including empty parts.
    ///
    /// In a `Set-Cookie` line, the first part is the cookie, and the other parts are the
    /// attributes.
    /// - Parameters:
    ///   - line: The line.
    ///   - limit: The maximum number of semicolons at which the line is split.
    /// - Returns: At least one part.
    public static func pieces(_ line: String, limit: Int = .max) -> [CookieItem] {
        line.utf8.split(
            separator: UInt8(ascii: ";"), maxSplits: limit, omittingEmptySubsequences: false
        ).map(CookieItem.init)
    }

    /// Returns the parts of a line that are not empty.
    public static func list(_ line: String) -> [CookieItem] {
        line.utf8.split(separator: UInt8(ascii: ";")).map(CookieItem.init)
    }
}
