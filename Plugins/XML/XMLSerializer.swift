public import Foundation
public import TurnpikeCore

/// The content as an XML document: its root element.
///
/// Entities beyond the five of XML itself, and documents that declare them, are refused; nothing
/// outside the content is ever read. What stands behind the root element is passed over.
public struct XMLSerializer: ContentSerializer {
    private let limits: XMLLimits

    /// Creates the serializer.
    public init(limits: XMLLimits = XMLLimits()) { self.limits = limits }

    /// The media types of XML (RFC 7303).
    public static let mediaTypes: [MediaType] = ["application/xml", "text/xml"]

    /// XML.
    public var accept: [MediaType] { Self.mediaTypes }

    /// Gives the root element.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> XMLTree {
        try XMLTree(parsing: content, limits: limits)
    }
}

extension ResponseSerializer where Self == XMLSerializer {
    /// The content as an XML document.
    public static var xml: Self { XMLSerializer() }
}

extension XMLTree {
    /// Reads a document and gives its root element.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` where it is not well formed,
    ///   declares entities, or exceeds a limit.
    public init(parsing content: Data, limits: XMLLimits = XMLLimits()) throws {
        var open: [XMLTree] = []
        var root: XMLTree?
        try XMLReader.read(content, limits: limits) { event in
            switch event {
            case .begin(let name, let attributes):
                open.append(XMLTree(name, attributes: attributes))
            case .text(let text):
                if !open.isEmpty { open[open.count - 1].nodes.append(.text(text)) }
            case .end:
                guard let element = open.popLast() else { return }
                if open.isEmpty {
                    root = element
                } else {
                    open[open.count - 1].nodes.append(.element(element))
                }
            }
        }
        guard let root else { throw XMLGuard.fault("has no element") }
        self = root
    }
}

extension Call {
    /// Sends the request and gives the content of the response as an XML document.
    public func xml(limits: XMLLimits = XMLLimits()) async throws -> XMLTree {
        try await serialize(with: XMLSerializer(limits: limits))
    }

    /// Sends the request and hands the content of the response to a closure, event by event, without
    /// a document in memory.
    ///
    /// What the closure throws ends the reading and is the error's `underlying`.
    public func xmlEvents(
        limits: XMLLimits = XMLLimits(), _ handle: @escaping @Sendable (XMLEvent) throws -> Void
    ) async throws { try await serialize(with: XMLEventSerializer(limits: limits, handle: handle)) }
}

private struct XMLEventSerializer: ContentSerializer {
    let limits: XMLLimits
    let handle: @Sendable (XMLEvent) throws -> Void
    var accept: [MediaType] { XMLSerializer.mediaTypes }

    func serialize(_ content: Data, of head: ResponseHead) throws {
        try XMLReader.read(content, limits: limits, handle)
    }
}
