/// How much of a response is buffered for a reader that is slower than the peer.
public struct Flow: Sendable, Hashable {
    /// At this many buffered bytes the producer is told to pause.
    public let highWater: Int
    /// At this many buffered bytes a producer that paused may go on.
    public let lowWater: Int
    /// The bytes that stay in memory before the rest goes to a file; nil where nothing is spilled.
    let memoryLimit: Int?
    /// The bytes that a spill file may have.
    let fileLimit: Int64

    /// For a transport that can hold the peer back.
    public static func pausing(highWater: Int = 524_288, lowWater: Int = 131_072) -> Flow {
        Flow(highWater: highWater, lowWater: lowWater, memoryLimit: nil, fileLimit: 0)
    }

    /// For a transport that cannot: what the reader does not take goes to an unlinked temporary
    /// file.
    /// - Parameters:
    ///   - memoryLimit: The bytes that stay in memory.
    ///   - fileLimit: The bytes that may wait in the file; above it the exchange fails as
    ///     ``ClientError/Code/tooLarge``.
    /// - Returns: The bounds.
    public static func spilling(memoryLimit: Int = 1_048_576, fileLimit: Int64) -> Flow {
        Flow(highWater: .max, lowWater: .max, memoryLimit: memoryLimit, fileLimit: fileLimit)
    }
}
