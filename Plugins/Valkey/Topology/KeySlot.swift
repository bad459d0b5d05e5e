// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The slot of a key in a cluster.
enum KeySlot {
    static let count = 16_384

    /// Returns the slot of a key: of what stands between its first braces, if that is not empty.
    static func of(_ key: Data) -> Int {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return crc(key) }
        let rest = key[key.index(after: open)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else {
            return crc(key)
        }
        return crc(rest[..<close])
    }

    private static func crc(_ bytes: Data) -> Int {
        var sum: UInt16 = 0
        for byte in bytes { sum = sum << 8 ^ table[Int(UInt8(sum >> 8) ^ byte)] }
        return Int(sum) % count
    }

    // CRC-16/XMODEM.
    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { sum, _ in
            sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
        }
    }
}
