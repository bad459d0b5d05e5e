package import struct Foundation.Data

/// The part of a hash function that is its own: what it does with one block of 64 bytes.
package protocol BlockCompression: Sendable {
    /// Whether the number of bits stands at the end with its highest byte first.
    static var isBigEndian: Bool { get }

    init()

    /// Takes in one block.
    mutating func compress(_ block: UnsafeRawBufferPointer)

    /// The digest after the last block.
    var digest: [UInt8] { get }
}

/// A hash function over blocks of 64 bytes, with the padding that MD5 and the SHA family share.
package struct BlockHash<Compression: BlockCompression>: Sendable {
    private var compression = Compression()
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    package init() {}

    /// The digest of some bytes.
    package static func digest(_ data: Data) -> [UInt8] {
        var hash = Self()
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
            unsafe pending.withUnsafeBytes { unsafe compression.compress($0) }
            pending.removeAll(keepingCapacity: true)
        }
        unsafe rest.withUnsafeBytes { bytes in
            var position = 0
            while position + 64 <= bytes.count {
                let block = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<position + 64])
                unsafe compression.compress(block)
                position += 64
            }
            unsafe pending += bytes[position...]
        }
    }

    package consuming func finish() -> [UInt8] {
        let bits = count &* 8
        pending.append(0x80)
        if pending.count > 56 { fill(to: 64) }
        fill(to: 56)
        for index in 0..<UInt64(8) {
            let shift = 8 * (Compression.isBigEndian ? 7 - index : index)
            pending.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        fill(to: 64)
        return compression.digest
    }

    private mutating func fill(to length: Int) {
        while pending.count < length { pending.append(0) }
        if length < 64 { return }
        unsafe pending.withUnsafeBytes { unsafe compression.compress($0) }
        pending.removeAll(keepingCapacity: true)
    }
}

extension UInt32 {
    func rotated(left count: UInt32) -> UInt32 { (self << count) | (self >> (32 - count)) }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits in lower case.
    @inlinable package var hexadecimal: String {
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
    /// Sixteen hexadecimal digits in lower case.
    package var hexadecimal: String {
        (0..<8).lazy.map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }.hexadecimal
    }
}
