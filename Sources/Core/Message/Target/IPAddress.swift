// SPDX-License-Identifier: Apache-2.0

/// An IP address, parsed from any spelling that a resolver or a URL parser accepts.
///
/// An IPv4 address does not equal its mapped form in IPv6.
public struct IPAddress: Hashable, Sendable {
    /// The 32 bits of an IPv4 address, or nil for IPv6.
    let v4: UInt32?
    // The upper and lower 64 bits of an IPv6 address; for an IPv4 address, those of its mapped form
    // (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2).
    let high: UInt64
    let low: UInt64

    /// Creates an IPv4 address from its 32 bits.
    public init(v4: UInt32) {
        self.v4 = v4
        (high, low) = (0, 0xFFFF_0000_0000 | UInt64(v4))
    }

    /// Creates an IPv6 address from its upper and lower 64 bits.
    public init(high: UInt64, low: UInt64) {
        v4 = nil
        (self.high, self.low) = (high, low)
    }

    /// Parses an address: IPv6 with or without brackets and zone, or IPv4 in one to four decimal,
    /// octal (`0177.1`) or hexadecimal (`0x7f000001`) parts.
    public init?(_ text: some StringProtocol) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let (high, low) = IPv6Text.parse(text) else { return nil }
            self.init(high: high, low: low)
        } else {
            guard let bits = IPv4Text.parse(text) else { return nil }
            self.init(v4: bits)
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address in its usual form: `192.0.2.1`, or eight groups of hexadecimal digits.
    public var description: String {
        if let v4 {
            return [24, 16, 8, 0].map { String(v4 >> $0 & 0xFF) }.joined(separator: ".")
        }
        return [high, low].flatMap { half in
            [48, 32, 16, 0].map { String(half >> $0 & 0xFFFF, radix: 16) }
        }.joined(separator: ":")
    }
}
