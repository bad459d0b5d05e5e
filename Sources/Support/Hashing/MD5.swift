// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// MD5 (RFC 1321), for protocols that require it.
///
/// MD5 does not protect against forgery and must not be used for anything else.
public struct MD5: Sendable {
    private var hash = BlockHash<MD5Compression>()

    /// Creates the hash of an empty message.
    public init() {}

    /// Returns the digest of some bytes.
    /// - Parameter data: The message.
    /// - Returns: 16 bytes.
    public static func digest(of data: Data) -> Data {
        var hash = MD5()
        hash.update(data)
        return hash.finalize()
    }

    /// Adds bytes to the message.
    public mutating func update(_ data: Data) {
        unsafe data.withUnsafeBytes { unsafe hash.update($0) }
    }

    /// Returns the digest of all bytes added so far: 16 bytes.
    public func finalize() -> Data { hash.finalize() }
}

/// The compression function of MD5.
struct MD5Compression: BlockCompression {
    private var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]

    /// Creates the state before the first block.
    init() {}

    /// Whether the length in bits at the end of the message is big-endian.
    static var isBigEndian: Bool { false }

    /// The digest after the last block.
    var digest: [UInt8] {
        state.flatMap { word in
            [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    /// Processes one block.
    mutating func compress(_ block: UnsafeRawBufferPointer) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for index in 0..<64 {
            let mixed: UInt32
            let position: Int
            switch index >> 4 {
            case 0: (mixed, position) = ((b & c) | (~b & d), index)
            case 1: (mixed, position) = ((d & b) | (~d & c), (5 * index + 1) & 15)
            case 2: (mixed, position) = (b ^ c ^ d, (3 * index + 5) & 15)
            default: (mixed, position) = (c ^ (b | ~d), (7 * index) & 15)
            }
            let word = unsafe UInt32(
                littleEndian: block.loadUnaligned(fromByteOffset: position * 4, as: UInt32.self))
            let sum = a &+ mixed &+ Self.constants[index] &+ word
            let turned = sum.rotated(left: Self.shifts[index >> 4][index & 3])
            (a, b, c, d) = (d, b &+ turned, b, c)
        }
        state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
    }

    private static let shifts: [[UInt32]] = [
        [7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21],
    ]

    // RFC 1321 defines the table as the integer part of 2³² times the absolute sine of 1 to 64.
    private static let constants: [UInt32] = (1...64).map { UInt32(abs(sin(Double($0))) * 0x1p32) }
}
