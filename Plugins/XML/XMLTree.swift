// SPDX-License-Identifier: Apache-2.0

/// An element of an XML document with its content.
///
/// ```swift
/// let feed = try await client.get("feed.xml").xml()
/// let titles = feed.children(named: "item").compactMap { $0.first("title")?.text }
/// ```
///
/// A value without references to its parent, so that parts of it can be stored and sent anywhere.
public struct XMLTree: Sendable, Hashable {
    /// The content of an element, in order.
    public enum Node: Sendable, Hashable {
        /// An element.
        case element(XMLTree)
        /// Text, with references and CDATA resolved.
        case text(String)
    }

    /// The name as written, including its prefix: `atom:link`.
    public var name: String
    /// The attributes by their names as written.
    public var attributes: [String: String]
    /// The content in order, without comments and processing instructions.
    public var nodes: [Node]

    /// Creates an element.
    public init(_ name: String, attributes: [String: String] = [:], nodes: [Node] = []) {
        self.name = name
        self.attributes = attributes
        self.nodes = nodes
    }

    /// The name without its prefix.
    public var localName: String {
        name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// The child elements, in order.
    public var children: [XMLTree] {
        nodes.compactMap { node in
            if case .element(let element) = node { return element }
            return nil
        }
    }

    /// Returns the child elements with a name, with or without its prefix.
    public func children(named name: String) -> [XMLTree] {
        children.filter { $0.name == name || $0.localName == name }
    }

    /// Returns the first child element with a name, with or without its prefix.
    public func first(_ name: String) -> XMLTree? {
        children.first { $0.name == name || $0.localName == name }
    }

    /// All text inside, including that of child elements.
    public var text: String {
        var text = ""
        appendText(to: &text)
        return text
    }

    // Each piece is copied once, whatever its depth.
    private func appendText(to text: inout String) {
        for node in nodes {
            switch node {
            case .text(let own): text += own
            case .element(let element): element.appendText(to: &text)
            }
        }
    }

    /// The value of an attribute.
    public subscript(attribute: String) -> String? { attributes[attribute] }
}
