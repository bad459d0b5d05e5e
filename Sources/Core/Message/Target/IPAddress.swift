// SPDX-License-Identifier: Apache-2.0

/// An IP address in any spelling that a resolver or a URL parser accepts.
///
/// An IPv4 address is not equal to the mapped IPv6 address.
public struct IPAddress: Hashable, Sendable {
    /// The 32 bits of an IPv4 address, or nil for IPv6.
    let v4: UInt32?
    // The upper and lower 64 bits of an IPv6 address or, for an IPv4 address, of the mapped IPv6
    // address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2).
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

    /// Parses an address of IPv6 or IPv4.
    ///
    /// An IPv6 address may have brackets and a zone. An IPv4 address has one to four parts in
    /// decimal, octal (`0177.1`) or hexadecimal (`0x7f000001`) form.
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
    /// The address in the usual form: `192.0.2.1`, or eight groups of hexadecimal digits.
    public var description: String {
        if let v4 {
            return [24, 16, 8, 0].map { String(v4 >> $0 & 0xFF) }.joined(separator: ".")
        }
        return [high, low].flatMap { half in
            [48, 32, 16, 0].map { String(half >> $0 & 0xFFFF, radix: 16) }
        }.joined(separator: ":")
    }
}

extension IPAddress {
    /// Whether the address is globally reachable.
    ///
    /// The value is false for the ranges of IANA's special-purpose registries (RFC 6890 and its
    /// updates): this host, private, shared (CGNAT), link-local, loopback, documentation,
    /// benchmarking, multicast, reserved, unique local. The value is also false for an IPv6 address
    /// that contains an IPv4 address of these ranges (mapped, compatible, 6to4, NAT64, ISATAP,
    /// Teredo), and for cloud metadata services at other addresses.
    public var isPublic: Bool {
        if let v4 { return Self.isPublic(v4) }
        if let embedded = embeddedV4 { return Self.isPublic(embedded) }
        // Global unicast is 2000::/3; all other ranges are local, multicast or unassigned.
        guard high >> 61 == 1 else { return false }
        if Self.reservedV6.contains(where: { high >> $0.shift == $0.prefix }) { return false }
        // An ISATAP address (RFC 5214 §6.1) ends in 0000:5efe or 0200:5efe and an IPv4 address.
        if self.low >> 32 & 0xFDFF_FFFF == 0x5EFE {
            return Self.isPublic(UInt32(truncatingIfNeeded: self.low))
        }
        return true
    }

    private var embeddedV4: UInt32? {
        let low = UInt32(truncatingIfNeeded: self.low)
        switch (high, self.low >> 32) {
        case (0, 0xFFFF), (0, 0): return low
        case (0x0064_FF9B_0000_0000, 0): return low
        default: break
        }
        // A 6to4 address (RFC 3056) has the IPv4 address after the first 16 bits.
        return high >> 48 == 0x2002 ? UInt32(truncatingIfNeeded: high >> 16) : nil
    }

    private static func isPublic(_ v4: UInt32) -> Bool {
        !reservedV4.contains { v4 >> $0.shift == $0.prefix } && !metadata.contains(v4)
    }

    private static let reservedV4: [(prefix: UInt32, shift: UInt32)] = [
        (0, 24),  // 0.0.0.0/8, this host
        (10, 24),  // 10.0.0.0/8, private
        (0x6440 >> 6, 22),  // 100.64.0.0/10, shared
        (127, 24),  // 127.0.0.0/8, loopback
        (0xA9FE, 16),  // 169.254.0.0/16, link-local
        (0xAC1, 20),  // 172.16.0.0/12, private
        (0xC0_0000, 8),  // 192.0.0.0/24, protocol assignments
        (0xC0_0002, 8),  // 192.0.2.0/24, documentation
        (0xC0_5863, 8),  // 192.88.99.0/24, 6to4 relays
        (0xC0A8, 16),  // 192.168.0.0/16, private
        (0xC612 >> 1, 17),  // 198.18.0.0/15, benchmarking
        (0xC6_3364, 8),  // 198.51.100.0/24, documentation
        (0xCB_0071, 8),  // 203.0.113.0/24, documentation
        (0xE, 28),  // 224.0.0.0/4, multicast
        (0xF, 28),  // 240.0.0.0/4, reserved, and broadcast
    ]

    // The wire server of Azure; metadata services of other clouds are not at public addresses.
    private static let metadata: Set<UInt32> = [0xA83F_8110]

    private static let reservedV6: [(prefix: UInt64, shift: UInt64)] = [
        (0x2001_0000 >> 9, 41),  // 2001::/23, protocol assignments, Teredo among them
        (0x2001_0DB8, 32),  // 2001:db8::/32, documentation
        (0x3FFF0, 44),  // 3fff::/20, documentation
    ]
}

extension IPAddress {
    /// Whether a parser may read a label as a number.
    ///
    /// If the value is true for the last label of a host, the host is an IP address or invalid.
    public static func readsAsNumber(_ label: some StringProtocol) -> Bool {
        let bytes = label.utf8
        if bytes.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) { return !bytes.isEmpty }
        return bytes.first == UInt8(ascii: "0")
            && bytes.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
            && bytes.dropFirst(2).allSatisfy { IPv4Text.hexDigit($0) != nil }
    }
}

/// Parses IPv4 in the forms of `inet_aton`, which resolvers and URL parsers accept.
enum IPv4Text {
    static func parse(_ text: some StringProtocol) -> UInt32? {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: 4, omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var bits: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let value = number(part) else { return nil }
            if index < parts.count - 1 {
                guard value <= 0xFF else { return nil }
                bits |= value << UInt64(24 - 8 * index)
            } else {
                // The last part contains the remaining bytes of the address.
                guard value <= 0xFFFF_FFFF >> UInt64(8 * index) else { return nil }
                bits |= value
            }
        }
        return UInt32(bits)
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt64? {
        var digits = bytes.dropFirst(0)
        var radix: UInt64 = 10
        if digits.count > 1, digits.first == UInt8(ascii: "0") {
            digits = digits.dropFirst()
            radix = 8
            if let next = digits.first, next | 0x20 == UInt8(ascii: "x") {
                digits = digits.dropFirst()
                radix = 16
            }
        }
        if digits.isEmpty { return radix == 16 ? 0 : nil }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = hexDigit(byte), digit < radix else { return nil }
            value = value * radix + digit
            guard value <= 0xFFFF_FFFF else { return nil }
        }
        return value
    }

    static func hexDigit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

/// Parses IPv6 in the forms of RFC 4291 §2.2.
enum IPv6Text {
    static func parse(_ text: some StringProtocol) -> (high: UInt64, low: UInt64)? {
        var bytes = Array(text.utf8)[...]
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") {
            bytes = bytes.dropFirst().dropLast()
        }
        if let zone = bytes.firstIndex(of: UInt8(ascii: "%")) { bytes = bytes[..<zone] }
        var groups: [UInt64] = []
        var gap: Int?
        var rest = bytes
        if rest.starts(with: "::".utf8) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            let part = rest[..<end]
            if end == rest.endIndex, part.contains(UInt8(ascii: ".")) {
                guard let v4 = dotted(part) else { return nil }
                groups += [UInt64(v4 >> 16), UInt64(v4 & 0xFFFF)]
                break
            }
            guard let group = group(part), groups.count < 8 else { return nil }
            groups.append(group)
            if end == rest.endIndex { break }
            rest = rest[rest.index(after: end)...]
            if rest.isEmpty { return nil }
            if rest.first == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = groups.count
                rest = rest.dropFirst()
            }
        }
        guard groups.count <= (gap == nil ? 8 : 7), gap != nil || groups.count == 8 else {
            return nil
        }
        if let gap {
            groups.insert(contentsOf: Array(repeating: 0, count: 8 - groups.count), at: gap)
        }
        let halves = [groups[..<4], groups[4...]].map { $0.reduce(0) { $0 << 16 | $1 } }
        return (halves[0], halves[1])
    }

    private static func group(_ bytes: some Collection<UInt8>) -> UInt64? {
        guard (1...4).contains(bytes.count) else { return nil }
        var value: UInt64 = 0
        for byte in bytes {
            guard let digit = IPv4Text.hexDigit(byte) else { return nil }
            value = value << 4 | digit
        }
        return value
    }

    // The end of the text must be four decimal parts.
    private static func dotted(_ bytes: some Collection<UInt8>) -> UInt32? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count),
                let byte = UInt8(String(decoding: part, as: UTF8.self))
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }
}
