package import struct Foundation.Data

/// SHA-256 (FIPS 180-4).
///
/// Neither Foundation on Linux nor the C library has it.
package struct SHA256: Sendable {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB,
        0x5BE0_CD19
    )
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    package init() {}

    /// The digest of some bytes.
    package static func digest(_ data: Data) -> [UInt8] {
        var hash = SHA256()
        hash.update(data)
        return hash.finish()
    }

    package mutating func update(_ data: Data) {
        count &+= UInt64(data.count)
        var rest = data[...]
        if !pending.isEmpty {
            let part = rest.prefix(64 - pending.count)
            pending += part
            rest = rest.dropFirst(part.count)
            guard pending.count == 64 else { return }
            unsafe pending.withUnsafeBytes { unsafe process($0) }
            pending.removeAll(keepingCapacity: true)
        }
        unsafe rest.withUnsafeBytes { bytes in
            var position = 0
            while position + 64 <= bytes.count {
                unsafe process(UnsafeRawBufferPointer(rebasing: bytes[position..<position + 64]))
                position += 64
            }
            unsafe pending += bytes[position...]
        }
    }

    package consuming func finish() -> [UInt8] {
        let bits = count &* 8
        pending.append(0x80)
        let zeros = (120 - pending.count) % 64
        var tail = Data(pending)
        tail.append(contentsOf: repeatElement(0, count: zeros < 0 ? zeros + 64 : zeros))
        for shift in stride(from: 56, through: 0, by: -8) {
            tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        pending = []
        update(tail)
        let words = [state.0, state.1, state.2, state.3, state.4, state.5, state.6, state.7]
        return words.flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    private mutating func process(_ block: UnsafeRawBufferPointer) {
        var schedule = [UInt32](repeating: 0, count: 64)
        for index in 0..<16 {
            schedule[index] = unsafe UInt32(
                bigEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
        }
        for index in 16..<64 {
            let a = schedule[index - 15]
            let b = schedule[index - 2]
            let s0 = Self.rotate(a, 7) ^ Self.rotate(a, 18) ^ (a >> 3)
            let s1 = Self.rotate(b, 17) ^ Self.rotate(b, 19) ^ (b >> 10)
            schedule[index] = schedule[index - 16] &+ s0 &+ schedule[index - 7] &+ s1
        }
        var (a, b, c, d, e, f, g, h) = state
        for index in 0..<64 {
            let s1 = Self.rotate(e, 6) ^ Self.rotate(e, 11) ^ Self.rotate(e, 25)
            let first = h &+ s1 &+ ((e & f) ^ (~e & g)) &+ Self.constants[index] &+ schedule[index]
            let s0 = Self.rotate(a, 2) ^ Self.rotate(a, 13) ^ Self.rotate(a, 22)
            let second = s0 &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        state = (
            state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e, state.5 &+ f,
            state.6 &+ g,
            state.7 &+ h
        )
    }

    private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 {
        (value >> count) | (value << (32 - count))
    }

    private static let constants: [UInt32] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
        0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
        0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351,
        0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
        0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
        0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    ]
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits in lower case.
    package var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
