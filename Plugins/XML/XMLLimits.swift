/// How much of an XML document is read.
public struct XMLLimits: Sendable, Hashable {
    /// How deep elements may stand inside one another.
    public var depth: Int
    /// How many elements and attributes there may be.
    public var nodes: Int

    /// Creates limits.
    public init(depth: Int = 200, nodes: Int = 1_000_000) {
        self.depth = depth
        self.nodes = nodes
    }
}
