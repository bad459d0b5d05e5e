// SPDX-License-Identifier: Apache-2.0

/// The compression function of a hash function with blocks of 64 bytes.
///
/// The functions are optimized by hand, because uploads are also hashed in builds without
/// optimization. The functions therefore use pointers and words instead of arrays and ranges, and
/// the loops contain no calls. The time for 60 MB decreases from eight seconds to one without
/// optimization, and to a half with optimization.
protocol BlockCompression: Sendable {
    /// Whether the length in bits at the end of the message is big-endian.
    static var isBigEndian: Bool { get }

    init()

    mutating func compress(_ blocks: UnsafeRawBufferPointer)

    var digest: [UInt8] { get }
}

struct BlockHash<Compression: BlockCompression>: Sendable {
    private var compression = Compression()
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var position = 0
        if !pending.isEmpty {
            position = min(64 - pending.count, bytes.count)
            unsafe pending += bytes[..<position]
            guard pending.count == 64 else { return }
            unsafe pending.withUnsafeBytes { unsafe compression.compress($0) }
            pending.removeAll(keepingCapacity: true)
        }
        let end = bytes.count - (bytes.count - position) % 64
        if position < end {
            unsafe compression.compress(UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
        }
        unsafe pending += bytes[end...]
    }

    consuming func finalize() -> Data {
        let bits = count &* 8
        pending.append(0x80)
        if pending.count > 56 { fill(to: 64) }
        fill(to: 56)
        for index in 0..<UInt64(8) {
            let shift = 8 * (Compression.isBigEndian ? 7 - index : index)
            pending.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        fill(to: 64)
        return Data(compression.digest)
    }

    private mutating func fill(to length: Int) {
        while pending.count < length { pending.append(0) }
        if length < 64 { return }
        unsafe pending.withUnsafeBytes { unsafe compression.compress($0) }
        pending.removeAll(keepingCapacity: true)
    }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    @inlinable public var hexadecimal: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            for value in [byte >> 4, byte & 0xF] {
                let base = value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10
                digits.append(base + value)
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension UInt64 {
    /// Sixteen lower-case hexadecimal digits.
    public var hexadecimal: String {
        (0..<8).lazy.map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }.hexadecimal
    }
}
