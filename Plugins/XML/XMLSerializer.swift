// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Parses the content as an XML document and returns its root element.
///
/// The serializer supports XML 1.0 without document types. The serializer rejects a document type,
/// unless ``XMLLimits/allowsDocumentType`` is true and the type can be skipped. The serializer also
/// rejects any entity other than the five predefined entities. The serializer expands nothing, and
/// reads nothing outside the content. The encoding comes from the byte order mark, else from the
/// `charset` of the `Content-Type`, else from the XML declaration, else it is UTF-8 (RFC 7303 §3).
///
/// The deadline and the cancellation of the call also apply while the document is parsed.
public struct XMLSerializer: ContentSerializer {
    private let limits: XMLLimits

    /// Creates the serializer.
    public init(limits: XMLLimits = XMLLimits()) { self.limits = limits }

    /// The media types of XML (RFC 7303).
    public static let mediaTypes: [MediaType] = ["application/xml", "text/xml"]

    /// The media types of XML.
    public var accept: [MediaType] { Self.mediaTypes }

    /// Returns the root element.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> XMLTree {
        try XMLTree(parsing: content, charset: head.charset, limits: limits)
    }

    /// Collects the content and returns its root element.
    public func serialize(_ response: Response, context: SerializationContext) async throws
        -> XMLTree
    {
        try await serialize(response, context: context) { content, head in
            try XMLTree(
                parsing: content, charset: head.charset, limits: limits,
                check: response.body.checkCancellation)
        }
    }
}

extension ResponseSerializer where Self == XMLSerializer {
    /// Parses the content as an XML document.
    public static var xml: Self { XMLSerializer() }
}

extension XMLTree {
    /// Parses a document and returns its root element.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the document is not well
    ///   formed, has a document type, refers to an entity that is not predefined, or exceeds a
    ///   limit. `CancellationError` if the task is cancelled.
    public init(parsing content: Data, limits: XMLLimits = XMLLimits()) throws {
        try self.init(parsing: content, charset: nil, limits: limits)
    }

    init(
        parsing content: Data, charset: String?, limits: XMLLimits,
        check: () throws -> Void = { try Task.checkCancellation() }
    ) throws {
        var open: [XMLTree] = []
        var root: XMLTree?
        try XMLReader.read(content, charset: charset, limits: limits, check: check) { event in
            switch event {
            case .begin(let name, let attributes):
                open.append(XMLTree(name, attributes: attributes))
            case .text(let text): open[open.count - 1].nodes.append(.text(text))
            case .end:
                let element = open.removeLast()
                if open.isEmpty {
                    root = element
                } else {
                    open[open.count - 1].nodes.append(.element(element))
                }
            }
        }
        guard let root else { throw XMLFault.error("has no element") }
        self = root
    }
}

extension ResponseHead {
    fileprivate var charset: String? {
        headers[.contentType].flatMap { MediaType(parsing: $0) }?[parameter: "charset"]
    }
}

extension Call {
    /// Sends the request and returns the content of the response as an XML document.
    public func xml(limits: XMLLimits = XMLLimits()) async throws -> XMLTree {
        try await serialize(with: XMLSerializer(limits: limits))
    }

    /// Sends the request, and passes the events of the response's XML document to a closure.
    ///
    /// No tree is built. If the closure throws, the reading ends, and the error becomes the
    /// `underlying` error. The deadline and the cancellation of the call also end the reading
    /// between two events.
    public func xmlEvents(
        limits: XMLLimits = XMLLimits(), _ handle: @escaping @Sendable (XMLEvent) throws -> Void
    ) async throws { try await serialize(with: XMLEventSerializer(limits: limits, handle: handle)) }
}

private struct XMLEventSerializer: ContentSerializer {
    let limits: XMLLimits
    let handle: @Sendable (XMLEvent) throws -> Void
    var accept: [MediaType] { XMLSerializer.mediaTypes }

    func serialize(_ content: Data, of head: ResponseHead) throws {
        try XMLReader.read(content, charset: head.charset, limits: limits, handle)
    }

    func serialize(_ response: Response, context: SerializationContext) async throws {
        try await serialize(response, context: context) { content, head in
            try XMLReader.read(
                content, charset: head.charset, limits: limits,
                check: response.body.checkCancellation, handle)
        }
    }
}

/// An element of an XML document, with its content.
///
/// ```swift
/// let feed = try await client.get("feed.xml").xml()
/// let titles = feed.children(named: "item").compactMap { $0.first("title")?.text }
/// ```
///
/// An element has no reference to its parent; a part of a tree can be stored anywhere.
public struct XMLTree: Sendable, Hashable {
    /// The content of an element, in order.
    public enum Node: Sendable, Hashable {
        /// An element.
        case element(XMLTree)
        /// Text in which references and CDATA are resolved.
        case text(String)
    }

    /// The name as written, including its prefix, such as `atom:link`.
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

    /// Returns the child elements with this name, with any prefix or without a prefix.
    public func children(named name: String) -> [XMLTree] {
        children.filter { $0.name == name || $0.localName == name }
    }

    /// Returns the first child element with this name, with any prefix or without a prefix.
    public func first(_ name: String) -> XMLTree? {
        children.first { $0.name == name || $0.localName == name }
    }

    /// The text of the element and of all elements inside.
    public var text: String {
        var text = ""
        appendText(to: &text)
        return text
    }

    // Each piece is copied only once, even at great depth.
    private func appendText(to text: inout String) {
        for node in nodes {
            switch node {
            case .text(let own): text += own
            case .element(let element): element.appendText(to: &text)
            }
        }
    }

    /// The value of an attribute, or nil if the element does not have the attribute.
    public subscript(attribute: String) -> String? { attributes[attribute] }
}
