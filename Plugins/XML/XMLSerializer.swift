public import Foundation
public import TurnpikeCore

/// The content as an XML document: its root element.
///
/// XML 1.0 without document types: one is refused, unless ``XMLLimits/allowsDocumentType`` lets it be
/// passed over, and so is an entity beyond the five of XML itself. Nothing is expanded, and nothing
/// outside the content is ever read. The encoding is that of a byte order mark, that of the `charset`
/// of the `Content-Type`, that of the document's declaration, or UTF-8 (RFC 7303 §3).
///
/// The call's deadline and its cancellation hold while the document is read, too.
public struct XMLSerializer: ContentSerializer {
    private let limits: XMLLimits

    /// Creates the serializer.
    public init(limits: XMLLimits = XMLLimits()) { self.limits = limits }

    /// The media types of XML (RFC 7303).
    public static let mediaTypes: [MediaType] = ["application/xml", "text/xml"]

    /// XML.
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
    /// The content as an XML document.
    public static var xml: Self { XMLSerializer() }
}

extension XMLTree {
    /// Reads a document and returns its root element.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` where it is not well formed, has a
    ///   document type, refers to an entity that is not XML's own, or exceeds a limit;
    ///   `CancellationError` where the task is cancelled meanwhile.
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
    /// The encoding that the `Content-Type` names.
    fileprivate var charset: String? {
        headers[.contentType].flatMap { MediaType(parsing: $0) }?[parameter: "charset"]
    }
}

extension Call {
    /// Sends the request and returns the content of the response as an XML document.
    public func xml(limits: XMLLimits = XMLLimits()) async throws -> XMLTree {
        try await serialize(with: XMLSerializer(limits: limits))
    }

    /// Sends the request and hands the content of the response to a closure, event by event, without
    /// making a tree of it.
    ///
    /// What the closure throws ends the reading and is the error's `underlying`. The deadline of the
    /// call, and its cancellation, end the reading between two events.
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
