// SPDX-License-Identifier: Apache-2.0

/// The compression function of a hash function with blocks of 64 bytes.
protocol BlockCompression: Sendable {
    /// Whether the length in bits at the end of the message is big-endian.
    static var isBigEndian: Bool { get }

    init()

    /// Processes one block.
    mutating func compress(_ block: UnsafeRawBufferPointer)

    /// The digest after the last block.
    var digest: [UInt8] { get }
}
