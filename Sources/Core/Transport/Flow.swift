// SPDX-License-Identifier: Apache-2.0

/// How much of a response is buffered for a reader that is slower than the peer.
public struct Flow: Sendable, Hashable {
    /// The number of buffered bytes at which the transport is told to pause.
    public let highWater: Int
    /// The number of buffered bytes at which a paused transport resumes.
    public let lowWater: Int
    /// The number of bytes that stay in memory; the rest is written to a file.
    ///
    /// Nil if no file is used.
    let memoryLimit: Int?
    /// The largest size of the file, in bytes.
    let fileLimit: Int64

    /// Bounds for a transport that can hold the peer back.
    /// - Parameters:
    ///   - highWater: The number of buffered bytes at which the transport is told to pause.
    ///   - lowWater: The number of buffered bytes at which it resumes.
    /// - Returns: The bounds.
    public static func pausing(highWater: Int = 524_288, lowWater: Int = 131_072) -> Flow {
        Flow(highWater: highWater, lowWater: lowWater, memoryLimit: nil, fileLimit: 0)
    }

    /// Bounds for a transport that cannot hold the peer back.
    ///
    /// Chunks beyond the memory limit go to a temporary file without a name, until the reader takes
    /// them.
    /// - Parameters:
    ///   - memoryLimit: The number of bytes that stay in memory.
    ///   - fileLimit: The largest size of the file, in bytes. Beyond it the exchange fails as
    ///     ``ClientError/Code/tooLarge``.
    /// - Returns: The bounds.
    public static func spilling(memoryLimit: Int = 1_048_576, fileLimit: Int64) -> Flow {
        Flow(highWater: .max, lowWater: .max, memoryLimit: memoryLimit, fileLimit: fileLimit)
    }
}
