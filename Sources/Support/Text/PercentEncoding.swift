// SPDX-License-Identifier: Apache-2.0

/// The characters that need no percent-encoding in a part of a URL.
public struct PercentEncoding: Sendable {
    private let low: UInt64
    private let high: UInt64

    /// Creates an encoding that leaves letters, digits and the given ASCII characters unchanged.
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

    /// The unreserved characters (RFC 3986 §2.3): safe in every part.
    public static let unreserved = PercentEncoding(alsoAllowing: "-._~")

    /// The characters of a query item: the unreserved ones, and `/` and `?`, which a query may
    /// contain without encoding (RFC 3986 §3.4).
    ///
    /// Alamofire uses the same set.
    public static let queryItem = PercentEncoding(alsoAllowing: "-._~/?")

    /// Whether a byte needs no encoding.
    public func allows(_ byte: UInt8) -> Bool {
        byte < 64
            ? low & (1 << UInt64(byte)) != 0 : byte < 128 && high & (1 << UInt64(byte - 64)) != 0
    }

    /// Returns the UTF-8 text with all other bytes percent-encoded.
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

    /// A byte as `%` and two digits.
    public static func escape(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
