/// Chunks of a response's content that were read one after another.
///
/// A trace keeps a bounded number of these per exchange: when there are too many, the oldest are
/// merged.
public struct TraceChunks: Sendable, Hashable {
    /// The time from the beginning of the call to the first of the chunks.
    public let start: Duration
    /// The time from the beginning of the call to the last of the chunks.
    public let end: Duration
    /// The number of bytes.
    public let bytes: Int64
    /// The number of chunks.
    public let count: Int

    init(start: Duration, end: Duration, bytes: Int64, count: Int) {
        self.start = start
        self.end = end
        self.bytes = bytes
        self.count = count
    }
}
