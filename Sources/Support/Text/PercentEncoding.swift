// SPDX-License-Identifier: Apache-2.0

/// The characters that need no percent-encoding in a part of a URL.
public struct PercentEncoding: Sendable {
    private let low: UInt64
    private let high: UInt64

    /// Creates an encoding in which letters, digits and some more ASCII characters do not change.
    public init(alsoAllowing characters: String) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        for byte in (letters + characters).utf8 where byte < 128 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
    }

    /// The unreserved characters (RFC 3986 §2.3), which are safe in every part.
    public static let unreserved = PercentEncoding(alsoAllowing: "-._~")

    /// For a query item, in which `/` and `?` do not change (RFC 3986 §3.4), as in Alamofire.
    public static let queryItem = PercentEncoding(alsoAllowing: "-._~/?")

    /// Whether a byte needs no encoding.
    public func allows(_ byte: UInt8) -> Bool {
        byte < 64
            ? low & (1 << UInt64(byte)) != 0 : byte < 128 && high & (1 << UInt64(byte - 64)) != 0
    }

    /// Returns the UTF-8 text, in which all other bytes are percent-encoded.
    public func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(allows) { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 2)
        for byte in text.utf8 {
            if allows(byte) {
                bytes.append(byte)
            } else {
                bytes += Self.escape(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text without percent-encoding, or nil if the text is truncated or not UTF-8.
    public static func decode(_ text: some StringProtocol) -> String? {
        bytes(of: text).flatMap { String(validating: $0, as: UTF8.self) }
    }

    static func bytes(of text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value)
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) }
    }

    /// Returns a byte as `%` and two digits.
    public static func escape(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

/// A decoded item of a query or a form.
public struct FormField: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The value, which is empty if there is no equals sign.
    public let value: String

    /// Creates a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses the items of an encoded query or form, in order.
    public static func parse(_ text: some StringProtocol) -> [FormField] {
        // The code splits bytes, because a delimiter and a combining mark form one character.
        text.utf8.split(separator: UInt8(ascii: "&")).map { item in
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            return FormField(
                name: decoded(item[..<equals]), value: decoded(item[equals...].dropFirst()))
        }
    }

    private static func decoded(_ text: some Sequence<UInt8>) -> String {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        let text = String(decoding: spaced, as: UTF8.self)
        return PercentEncoding.decode(text) ?? text
    }

    /// Whether names and values have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        Grammar.areSame(left.name, right.name) && Grammar.areSame(left.value, right.value)
    }
}

/// Decodes parameter values in the extended notation (RFC 8187): `UTF-8'en'%e2%82%ac%20rates`.
public enum ExtendedValue {
    /// Decodes a value, without the language.
    /// - Parameter text: The value with the name of its encoding: UTF-8, or the old ISO-8859-1.
    /// - Returns: The value, or nil if the text is not in this notation.
    public static func decode(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEncoding.bytes(of: parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            var scalars = String.UnicodeScalarView()
            for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
            return String(scalars)
        default: return nil
        }
    }
}
