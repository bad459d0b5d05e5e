/// How much of an XML document is read, and whether it may have a document type.
public struct XMLLimits: Sendable, Hashable {
    /// How deep elements may stand inside one another.
    public var depth: Int
    /// How many elements and attributes there may be.
    public var nodes: Int
    /// How many attributes one element may have.
    public var attributes: Int
    /// How many bytes of names, values and text are handed out, in UTF-8.
    public var bytes: Int
    /// Whether the document may have a document type declaration, as in `<!DOCTYPE html>`.
    ///
    /// It is passed over: nothing that it names is read. One with an internal subset, where entities
    /// and default attributes are declared, is refused in any case.
    public var allowsDocumentType: Bool

    /// Creates limits.
    /// - Parameters:
    ///   - depth: How deep elements may stand inside one another.
    ///   - nodes: How many elements and attributes there may be.
    ///   - attributes: How many attributes one element may have.
    ///   - bytes: How many bytes of names, values and text are handed out; 100 MiB.
    ///   - allowsDocumentType: Whether a document type without an internal subset is passed over
    ///     instead of refused.
    public init(
        depth: Int = 200, nodes: Int = 1_000_000, attributes: Int = 1000,
        bytes: Int = 104_857_600, allowsDocumentType: Bool = false
    ) {
        self.depth = depth
        self.nodes = nodes
        self.attributes = attributes
        self.bytes = bytes
        self.allowsDocumentType = allowsDocumentType
    }
}
