package import Foundation

/// XXH64 (Collet, "xxHash fast digest algorithm", version 0.1.1).
///
/// It finds what a disk or a broken write has changed. It is no defence against someone who wants
/// to deceive: who may write to the folder may write anything.
package enum XXHash64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    package static func hash(_ data: Data) -> UInt64 {
        unsafe data.withUnsafeBytes { unsafe hash($0) }
    }

    static func hash(_ text: String, seed: UInt64) -> UInt64 {
        var text = text
        return text.withUTF8 { unsafe hash(UnsafeRawBufferPointer($0), seed: seed) }
    }

    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        let count = bytes.count
        var position = 0
        var result: UInt64
        if count >= 32 {
            var a = seed &+ prime1 &+ prime2
            var b = seed &+ prime2
            var c = seed
            var d = seed &- prime1
            while position + 32 <= count {
                a = unsafe round(a, word(bytes, position))
                b = unsafe round(b, word(bytes, position + 8))
                c = unsafe round(c, word(bytes, position + 16))
                d = unsafe round(d, word(bytes, position + 24))
                position += 32
            }
            result = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            for lane in [a, b, c, d] { result = (result ^ round(0, lane)) &* prime1 &+ prime4 }
        } else {
            result = seed &+ prime5
        }
        result &+= UInt64(count)
        while position + 8 <= count {
            result ^= unsafe round(0, word(bytes, position))
            result = rotated(result, 27) &* prime1 &+ prime4
            position += 8
        }
        if position + 4 <= count {
            let half = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            result ^= UInt64(half) &* prime1
            result = rotated(result, 23) &* prime2 &+ prime3
            position += 4
        }
        while position < count {
            result ^= unsafe UInt64(bytes[position]) &* prime5
            result = rotated(result, 11) &* prime1
            position += 1
        }
        result ^= result >> 33
        result &*= prime2
        result ^= result >> 29
        result &*= prime3
        return result ^ (result >> 32)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        unsafe UInt64(
            littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
        (value << count) | (value >> (64 - count))
    }
}
