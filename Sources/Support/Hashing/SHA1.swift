// SPDX-License-Identifier: Apache-2.0

/// SHA-1 (FIPS 180-4), for protocols that require it, such as WebSocket (RFC 6455 §4.2.2).
///
/// SHA-1 does not protect against forgery, and must not be used for other purposes.
public struct SHA1: Sendable {
    private var hash = BlockHash<SHA1Compression>()

    /// Creates the hash of an empty message.
    public init() {}

    /// Returns the digest of some bytes.
    /// - Parameter data: The message.
    /// - Returns: 20 bytes.
    public static func digest(of data: Data) -> Data {
        var hash = SHA1()
        unsafe data.withUnsafeBytes { unsafe hash.hash.update($0) }
        return hash.hash.finalize()
    }
}

/// The code is simple and not fast, because the messages are short.
struct SHA1Compression: BlockCompression {
    private var state: [UInt32] = [
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0,
    ]

    init() {}

    static var isBigEndian: Bool { true }

    var digest: [UInt8] {
        (0..<20).map { UInt8(truncatingIfNeeded: state[$0 / 4] >> UInt32(24 - 8 * ($0 % 4))) }
    }

    mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        for offset in stride(from: 0, to: blocks.count, by: 64) {
            var words = (0..<16).map { index in
                (0..<4).reduce(UInt32(0)) {
                    unsafe $0 << 8 | UInt32(blocks[offset + 4 * index + $1])
                }
            }
            for index in 16..<80 {
                let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14]
                words.append(Self.rotated(mixed ^ words[index - 16], by: 1))
            }
            mix(words)
        }
    }

    private mutating func mix(_ words: [UInt32]) {
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (chosen, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: ((b & c) | (~b & d), 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let sum = Self.rotated(a, by: 5) &+ chosen &+ e &+ constant &+ words[index]
            (a, b, c, d, e) = (sum, a, Self.rotated(b, by: 30), c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
