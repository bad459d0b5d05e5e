// SPDX-License-Identifier: Apache-2.0

/// MD5 (RFC 1321), for protocols that require it.
///
/// MD5 does not protect against forgery, and must not be used for other purposes.
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

    /// Returns the digest of all bytes that were added so far (16 bytes).
    public func finalize() -> Data { hash.finalize() }
}

struct MD5Compression: BlockCompression {
    private var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]

    init() {}

    static var isBigEndian: Bool { false }

    var digest: [UInt8] {
        state.flatMap { word in
            [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { words in
            unsafe Self.constants.withUnsafeBufferPointer { constants in
                unsafe state.withUnsafeMutableBufferPointer { state in
                    guard let block = blocks.baseAddress,
                        let words = words.baseAddress,
                        let constants = constants.baseAddress,
                        let state = state.baseAddress
                    else { return }
                    var offset = 0
                    while offset < blocks.count {
                        unsafe UnsafeMutableRawPointer(words).copyMemory(
                            from: block + offset, byteCount: 64)
                        unsafe Self.run(words, constants, state)
                        offset &+= 64
                    }
                }
            }
        }
    }

    private static func run(
        _ words: UnsafePointer<UInt32>, _ constants: UnsafePointer<UInt32>,
        _ state: UnsafeMutablePointer<UInt32>
    ) {
        var (a, b, c, d) = unsafe (state[0], state[1], state[2], state[3])
        var index = 0
        while index < 64 {
            // `rotations` contains one byte for each of the four rotations of the round.
            let (mixed, position, rotations): (UInt32, Int, UInt32)
            if index < 16 {
                (mixed, position, rotations) = ((b & c) | (~b & d), index, 0x1611_0C07)
            } else if index < 32 {
                (mixed, position, rotations) = (
                    (d & b) | (~d & c), (5 &* index &+ 1) & 15, 0x140E_0905
                )
            } else if index < 48 {
                (mixed, position, rotations) = (b ^ c ^ d, (3 &* index &+ 5) & 15, 0x1710_0B04)
            } else {
                (mixed, position, rotations) = (c ^ (b | ~d), (7 &* index) & 15, 0x150F_0A06)
            }
            let word = unsafe words[position].littleEndian
            let sum = unsafe a &+ mixed &+ constants[index] &+ word
            let count = rotations &>> UInt32(truncatingIfNeeded: (index & 3) &<< 3) & 31
            let turned = sum &<< count | sum &>> (32 &- count)
            (a, b, c, d) = (d, b &+ turned, b, c)
            index &+= 1
        }
        unsafe state[0] &+= a
        unsafe state[1] &+= b
        unsafe state[2] &+= c
        unsafe state[3] &+= d
    }

    // RFC 1321 defines the table as the integer part of 2³² times the absolute sine of 1 to 64.
    private static let constants: [UInt32] = (1...64).map { UInt32(abs(sin(Double($0))) * 0x1p32) }
}
