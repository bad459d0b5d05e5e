// SPDX-License-Identifier: Apache-2.0

/// The slot of a cluster in which a key lies (Redis cluster specification, "Key distribution model").
enum ClusterSlot {
    /// The slot of a key without a hash tag: its CRC-16 (XMODEM).
    static func slot(of key: String) -> Int64 {
        var crc: UInt16 = 0
        for byte in key.utf8 {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return Int64(crc % 16_384)
    }

    /// A key in a slot; any key if there is no such slot.
    static func key(in slot: Int64) -> String {
        // A slot has one key of these in 16,384; so many in vain have a chance of one in 10^13.
        for number in 0..<500_000 {
            let key = String(number)
            if Self.slot(of: key) == slot { return key }
        }
        return ""
    }
}
