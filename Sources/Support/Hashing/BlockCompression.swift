// SPDX-License-Identifier: Apache-2.0

/// The compression function of a hash function with blocks of 64 bytes.
///
/// The functions here are written for builds without optimization too, where a user who hashes an
/// upload waits for them: they use pointers and words rather than arrays and ranges, and call nothing
/// in their loops. 60 MB then take a second instead of eight, and with optimization half of the time.
protocol BlockCompression: Sendable {
    /// Whether the length in bits at the end of the message is big-endian.
    static var isBigEndian: Bool { get }

    init()

    /// Processes blocks, as many as the buffer has.
    mutating func compress(_ blocks: UnsafeRawBufferPointer)

    /// The digest after the last block.
    var digest: [UInt8] { get }
}
