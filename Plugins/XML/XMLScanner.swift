// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Limits for reading an XML document, and whether it may have a document type.
public struct XMLLimits: Sendable, Hashable {
    /// The maximum depth of nested elements.
    public var depth: Int
    /// The maximum number of elements and attributes of the document.
    public var nodes: Int
    /// The maximum number of attributes of one element.
    public var attributes: Int
    /// The maximum number of bytes of names, values and text in UTF-8.
    public var bytes: Int
    /// Whether the document may have a document type declaration such as `<!DOCTYPE html>`.
    ///
    /// The declaration is skipped, and the targets of its references are not read. An internal
    /// subset could declare entities and default attributes, and a declaration with such a subset
    /// is therefore always rejected.
    public var allowsDocumentType: Bool

    /// Creates limits.
    /// - Parameters:
    ///   - depth: The maximum depth of nested elements.
    ///   - nodes: The maximum number of elements and attributes of the document.
    ///   - attributes: The maximum number of attributes of one element.
    ///   - bytes: The maximum number of bytes of names, values and text; 100 MiB by default.
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

/// An event of an XML parser.
public enum XMLEvent: Sendable, Hashable {
    /// An element starts.
    case begin(name: String, attributes: [String: String])
    /// Text in which references and CDATA are resolved. Adjacent pieces are one event.
    case text(String)
    /// An element ends.
    case end(name: String)
}

/// Reads a document once, by XML 1.0 (fifth edition), and reports its elements and text.
///
/// Each byte is inspected a bounded number of times. Declarations in document types are not read.
/// No entity is expanded, and the output is at most twice as large as the input. `XMLRedactor` in
/// `TurnpikeTesting` is a separate reader for recordings, because a redactor keeps positions.
struct XMLScanner {
    private enum Place {
        /// The position is before the root element. `hasType` is true after a document type.
        case prolog(hasType: Bool)
        case content
        /// The position is after the root element.
        case epilog
    }

    let bytes: [UInt8]
    let limits: XMLLimits
    let handle: (XMLEvent) throws -> Void
    var position = 0
    // Text that was not reported yet. Comments do not split the text.
    var text: [UInt8] = []
    private var place = Place.prolog(hasType: false)
    private var open: [Range<Int>] = []
    private var nodes = 0
    private var handedOut = 0

    // The number of bytes between two calls of `check`.
    private static let pieceBytes = 65_536

    init(
        _ bytes: [UInt8], limits: XMLLimits, _ handle: @escaping (XMLEvent) throws -> Void
    ) {
        self.bytes = bytes
        self.limits = limits
        self.handle = handle
    }

    /// Reads the document.
    /// - Parameter check: Called between pieces. If it throws, the reading ends with that error.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization``, and the errors of the closures.
    mutating func run(check: () throws -> Void) throws {
        try skipDeclaration()
        var nextCheck = 0
        while position < bytes.count {
            if position >= nextCheck {
                try check()
                nextCheck = position + Self.pieceBytes
            }
            if peek() == UInt8(ascii: "<") { try readMarkup() } else { try readText() }
        }
        switch place {
        case .prolog: throw fault("has no element")
        case .content: throw fault("ends inside an element")
        case .epilog: return
        }
    }

    private mutating func readMarkup() throws {
        switch (byte(after: 1), place) {
        case (UInt8(ascii: "?"), _): try skipInstruction()
        case (UInt8(ascii: "!"), _): try readDeclaration()
        case (UInt8(ascii: "/"), .content): try readEndTag()
        case (UInt8(ascii: "/"), _): throw fault("has an end tag without a start tag")
        case (_, .epilog): throw fault("has a second root element")
        default: try readStartTag()
        }
    }

    private mutating func readDeclaration() throws {
        if skip("<!--") { return try skipComment() }
        switch place {
        case .content where skip("<![CDATA["): try readCharacterData()
        case .prolog(hasType: false) where skip("<!DOCTYPE"):
            if !limits.allowsDocumentType {
                throw fault(
                    "has a document type, which is rejected unless XMLLimits.allowsDocumentType is"
                        + " true")
            }
            try skipDocumentType()
            place = .prolog(hasType: true)
        default: throw fault("has a declaration in the wrong place")
        }
    }

    // MARK: Elements

    private mutating func readStartTag() throws {
        position += 1
        let name = try readName()
        var attributes: [String: String] = [:]
        while true {
            let isApart = skipBlanks()
            if skip(">") {
                try begin(name, attributes)
                return open.append(name)
            }
            if skip("/>") {
                try begin(name, attributes)
                return try end(name)
            }
            guard isApart else { throw fault("has a tag that does not end") }
            if attributes.count >= limits.attributes {
                throw XMLFault.error(
                    "has an element with more than \(limits.attributes) attributes")
            }
            let (attribute, value) = try readAttribute()
            // If two attributes have canonically equivalent names, both are rejected, because one
            // attribute would be lost.
            if attributes.updateValue(value, forKey: attribute) != nil {
                throw fault("has an element with two attributes of one name")
            }
        }
    }

    private mutating func readAttribute() throws -> (name: String, value: String) {
        let name = try readName()
        skipBlanks()
        guard skip("=") else { throw fault("has an attribute without a value") }
        skipBlanks()
        return (string(name), try readAttributeValue())
    }

    private mutating func readEndTag() throws {
        position += 2
        let name = try readName()
        skipBlanks()
        guard skip(">") else { throw fault("has a tag that does not end") }
        guard let expected = open.last, bytes[expected] == bytes[name] else {
            throw fault("has an end tag that does not match its start tag")
        }
        open.removeLast()
        try end(name)
    }

    // MARK: Reporting events

    private mutating func begin(_ name: Range<Int>, _ attributes: [String: String]) throws {
        place = .content
        nodes += 1 + attributes.count
        if open.count >= limits.depth {
            throw XMLFault.error("nests deeper than \(limits.depth)")
        }
        if nodes > limits.nodes {
            throw XMLFault.error("has more than \(limits.nodes) elements and attributes")
        }
        try sendText()
        let size = attributes.reduce(name.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        try send(.begin(name: string(name), attributes: attributes), bytes: size)
    }

    private mutating func end(_ name: Range<Int>) throws {
        try sendText()
        try send(.end(name: string(name)), bytes: name.count)
        if open.isEmpty { place = .epilog }
    }

    private mutating func sendText() throws {
        if text.isEmpty { return }
        let content = String(decoding: text, as: UTF8.self)
        let count = text.count
        text.removeAll(keepingCapacity: count <= Self.pieceBytes)
        try send(.text(content), bytes: count)
    }

    private mutating func send(_ event: XMLEvent, bytes count: Int) throws {
        handedOut += count
        if handedOut > limits.bytes {
            throw XMLFault.error("produces more than \(limits.bytes) bytes")
        }
        try handle(event)
    }

    // MARK: Text

    private mutating func readText() throws {
        if case .content = place { return try readCharacters() }
        guard skipBlanks() else { throw fault("has text outside of its root element") }
    }
}

/// Reads a document within limits, and calls a check at intervals.
enum XMLReader {
    /// Passes the events of a document to a closure.
    /// - Parameters:
    ///   - content: The document.
    ///   - charset: The charset of the `Content-Type`.
    ///   - limits: The limits.
    ///   - check: Called between pieces. If it throws, the reading ends with that error.
    ///   - handle: Receives the events.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization``, and the errors of the closures.
    static func read(
        _ content: Data, charset: String? = nil, limits: XMLLimits,
        check: () throws -> Void = { try Task.checkCancellation() },
        _ handle: @escaping (XMLEvent) throws -> Void
    ) throws {
        var scanner = XMLScanner(
            try XMLText.bytes(of: content, charset: charset), limits: limits, handle)
        try scanner.run(check: check)
    }
}
