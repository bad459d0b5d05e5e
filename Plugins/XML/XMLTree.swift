/// An element of an XML document, with what is inside it.
///
/// ```swift
/// let feed = try await client.get("feed.xml").xml()
/// let titles = feed.children(named: "item").compactMap { $0.first("title")?.text }
/// ```
///
/// A value without references to parents: parts of it can be kept and sent anywhere.
public struct XMLTree: Sendable, Hashable {
    /// What stands inside an element, in order.
    public enum Node: Sendable, Hashable {
        /// An element.
        case element(XMLTree)
        /// Text, with references and CDATA resolved.
        case text(String)
    }

    /// The name as it is written, with its prefix: `atom:link`.
    public var name: String
    /// The attributes by their names as they are written.
    public var attributes: [String: String]
    /// What stands inside, in order; comments and processing instructions are left out.
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

    /// The elements inside, in order.
    public var children: [XMLTree] {
        nodes.compactMap { node in
            if case .element(let element) = node { return element }
            return nil
        }
    }

    /// The elements inside of a name, with or without its prefix.
    public func children(named name: String) -> [XMLTree] {
        children.filter { $0.name == name || $0.localName == name }
    }

    /// The first element inside of a name, with or without its prefix.
    public func first(_ name: String) -> XMLTree? {
        children.first { $0.name == name || $0.localName == name }
    }

    /// All text inside, that of elements included.
    public var text: String {
        var text = ""
        appendText(to: &text)
        return text
    }

    // Each piece is copied once, however deep it stands.
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
