// SPDX-License-Identifier: Apache-2.0

/// IPv4 as `inet_aton` reads it, which resolvers and URL parsers follow.
package enum IPv4Text {
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
                // The last part fills what is left.
                guard value <= 0xFFFF_FFFF >> UInt64(8 * index) else { return nil }
                bits |= value
            }
        }
        return UInt32(bits)
    }

    /// Whether a label is a number to some parser: a host that ends in one is an address or
    /// nothing.
    package static func isNumeric(_ label: some StringProtocol) -> Bool {
        let bytes = label.utf8
        if bytes.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) { return !bytes.isEmpty }
        return bytes.first == UInt8(ascii: "0")
            && bytes.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
            && bytes.dropFirst(2).allSatisfy { hexDigit($0) != nil }
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

/// IPv6 in the forms of RFC 4291 §2.2.
package enum IPv6Text {
    package static func parse(_ text: some StringProtocol) -> (high: UInt64, low: UInt64)? {
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

    // The tail is four decimal parts and nothing else.
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
