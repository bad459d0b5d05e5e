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
        let fast = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe hash(UnsafeRawBufferPointer(bytes), seed: seed)
        }
        return fast ?? hash(String(decoding: Array(text.utf8), as: UTF8.self), seed: seed)
    }

    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        guard let start = bytes.baseAddress else { return mixed(seed &+ prime5) }
        // SAFETY: all that is read stands below `end`.
        var next = unsafe start
        let end = unsafe start + bytes.count
        var result: UInt64
        if bytes.count >= 32 {
            var a = seed &+ prime1 &+ prime2
            var b = seed &+ prime2
            var c = seed
            var d = seed &- prime1
            let last = unsafe end - 32
            repeat {
                unsafe (a, b) = (round(a, word(next)), round(b, word(next + 8)))
                unsafe (c, d) = (round(c, word(next + 16)), round(d, word(next + 24)))
                unsafe next += 32
            } while unsafe next <= last
            result = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            result = merged(merged(merged(merged(result, a), b), c), d)
        } else {
            result = seed &+ prime5
        }
        result &+= UInt64(bytes.count)
        while unsafe end - next >= 8 {
            unsafe result ^= round(0, word(next))
            result = rotated(result, 27) &* prime1 &+ prime4
            unsafe next += 8
        }
        if unsafe end - next >= 4 {
            let half = unsafe UInt32(littleEndian: next.loadUnaligned(as: UInt32.self))
            result ^= UInt64(half) &* prime1
            result = rotated(result, 23) &* prime2 &+ prime3
            unsafe next += 4
        }
        while unsafe next < end {
            unsafe result ^= UInt64(next.load(as: UInt8.self)) &* prime5
            result = rotated(result, 11) &* prime1
            unsafe next += 1
        }
        return mixed(result)
    }

    private static func mixed(_ result: UInt64) -> UInt64 {
        var result = (result ^ result >> 33) &* prime2
        result = (result ^ result >> 29) &* prime3
        return result ^ result >> 32
    }

    private static func merged(_ result: UInt64, _ lane: UInt64) -> UInt64 {
        (result ^ round(0, lane)) &* prime1 &+ prime4
    }

    private static func word(_ start: UnsafeRawPointer) -> UInt64 {
        unsafe UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
        (value << count) | (value >> (64 - count))
    }
}
