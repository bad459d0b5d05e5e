// SPDX-License-Identifier: Apache-2.0

/// Limits for reading an XML document, and whether it may have a document type.
public struct XMLLimits: Sendable, Hashable {
    /// How deeply elements may be nested.
    public var depth: Int
    /// The most elements and attributes in total.
    public var nodes: Int
    /// The most attributes of one element.
    public var attributes: Int
    /// The most bytes of names, values and text in UTF-8.
    public var bytes: Int
    /// Whether the document may have a document type declaration such as `<!DOCTYPE html>`.
    ///
    /// The declaration is skipped, and nothing that it refers to is read. A declaration with an
    /// internal subset, which could declare entities and default attributes, is always rejected.
    public var allowsDocumentType: Bool

    /// Creates limits.
    /// - Parameters:
    ///   - depth: How deeply elements may be nested.
    ///   - nodes: The most elements and attributes in total.
    ///   - attributes: The most attributes of one element.
    ///   - bytes: The most bytes of names, values and text; 100 MiB by default.
    ///   - allowsDocumentType: Whether a document type without an internal subset is skipped
    ///     instead of rejected.
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
