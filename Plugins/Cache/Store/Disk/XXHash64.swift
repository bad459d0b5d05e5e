// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// XXH64 (Collet, "xxHash fast digest algorithm", version 0.1.1).
///
/// The checksums detect changes by a disk or an incomplete write. The checksums do not protect
/// against forgery by a process that can write to the folder. The CRC-32 of zlib has too few bits
/// for digests of keys, and takes 19 µs for 64 KiB instead of 6 µs.
enum XXHash64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    static func hash(_ bytes: some ContiguousBytes) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe hash($0, seed: 0) }
    }

    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { unsafe hash(bytes, seed: 0) }

    /// The checksum of numbers as little-endian bytes.
    static func hash(_ numbers: some Sequence<UInt64>) -> UInt64 {
        unsafe numbers.map(\.littleEndian).withUnsafeBytes { unsafe hash($0, seed: 0) }
    }

    static func hash(_ text: String, seed: UInt64) -> UInt64 {
        var text = text
        return text.withUTF8 { unsafe hash(UnsafeRawBufferPointer($0), seed: seed) }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var position = 0
        func word() -> UInt64 {
            defer { position += 8 }
            return unsafe UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
        var result = seed &+ prime5
        if bytes.count >= 32 {
            var (a, b) = (seed &+ prime1 &+ prime2, seed &+ prime2)
            var (c, d) = (seed, seed &- prime1)
            while position <= bytes.count - 32 {
                (a, b) = (round(a, word()), round(b, word()))
                (c, d) = (round(c, word()), round(d, word()))
            }
            result = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            for lane in [a, b, c, d] { result = (result ^ round(0, lane)) &* prime1 &+ prime4 }
        }
        result &+= UInt64(bytes.count)
        while position <= bytes.count - 8 {
            result = rotated(result ^ round(0, word()), 27) &* prime1 &+ prime4
        }
        if position <= bytes.count - 4 {
            let half = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            result = rotated(result ^ UInt64(half) &* prime1, 23) &* prime2 &+ prime3
            position += 4
        }
        while position < bytes.count {
            unsafe result = rotated(result ^ UInt64(bytes[position]) &* prime5, 11) &* prime1
            position += 1
        }
        result = (result ^ result >> 33) &* prime2
        result = (result ^ result >> 29) &* prime3
        return result ^ result >> 32
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
        (value << count) | (value >> (64 - count))
    }
}
