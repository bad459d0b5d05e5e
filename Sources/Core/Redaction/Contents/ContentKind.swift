// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A kind of content that is parsed completely, so that each value is known together with its name.
///
/// Content of any other kind is searched for secrets as text or as bytes.
enum ContentKind: Equatable {
    case json
    /// One JSON text per line. Only the lines that are not JSON are withheld.
    case jsonLines
    case form
    case xml
    case propertyList
    case eventStream
    case multipart(boundary: String?)
    /// An HTTP message or another message with such a head: `application/http`, `message/rfc822`.
    case message
    /// A table whose first row names its columns: CSV and TSV.
    case table(isTabbed: Bool)
    /// Content that only others can parse.
    case unread(UnreadContent)

    /// The name of the kind in a placeholder.
    var name: String {
        switch self {
        case .json: "JSON"
        case .jsonLines: "JSON lines"
        case .form: "a form"
        case .xml: "XML"
        case .propertyList: "a property list"
        case .eventStream: "an event stream"
        case .multipart: "multipart content"
        case .message: "a message"
        case .table: "a table"
        case .unread(let content): content.name
        }
    }

    /// Creates the kind that a media type stands for.
    init?(_ type: MediaType) {
        if let unread = UnreadContent(type) {
            self = .unread(unread)
            return
        }
        switch (type.type, type.subtype) {
        case ("multipart", _): self = .multipart(boundary: type[parameter: "boundary"])
        case ("message", _), ("application", "http"): self = .message
        case ("application", "x-www-form-urlencoded"): self = .form
        case ("text", "event-stream"): self = .eventStream
        case (_, let subtype) where subtype.hasSuffix("plist"): self = .propertyList
        case (_, let subtype) where Self.linesOfJSON.contains(where: subtype.contains):
            self = .jsonLines
        case (_, let subtype)
        where ["json", "x-json", "json5", "jsonc", "hjson"].contains(subtype)
            || type.suffix == "json":
            self = .json
        case (_, let subtype) where ["csv", "x-csv", "comma-separated-values"].contains(subtype):
            self = .table(isTabbed: false)
        case (_, "tab-separated-values"), (_, "tsv"), (_, "x-tsv"): self = .table(isTabbed: true)
        case (_, let subtype) where subtype == "xml" || type.suffix == "xml": self = .xml
        default: return nil
        }
    }

    private static let linesOfJSON = ["ndjson", "jsonl", "json-lines", "json-seq", "stream+json"]

    /// Creates the kind that the first bytes of content without a media type suggest.
    init?(sniffing text: [UInt8]) {
        guard let first = text.firstIndex(where: { $0 > 0x20 }),
            "b<{[".utf8.contains(text[first])
        else { return nil }
        let rest = text[first...]
        if rest.starts(with: "bplist0".utf8) {
            self = .propertyList
        } else if rest.starts(with: "<?xml".utf8) || rest.starts(with: "<!DOCTYPE plist".utf8) {
            self = .xml
        } else if Self.beginsJSON(rest) {
            self = .json
        } else {
            return nil
        }
    }

    // Accepts the start of an array or an object. A bracket alone may begin a line of a log.
    private static func beginsJSON(_ text: ArraySlice<UInt8>) -> Bool {
        guard let next = text.dropFirst().first(where: { $0 > 0x20 }) else { return false }
        switch text.first {
        case UInt8(ascii: "{"): return next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
        case UInt8(ascii: "["): return "{[]\"-".utf8.contains(next) || Grammar.isDigit(next)
        default: return false
        }
    }

    /// Returns the content without its secrets; text is in UTF-8.
    /// - Throws: ``Unreadable`` if the content is not of this kind.
    func redacted(
        _ content: [UInt8], isCut: Bool, in pass: RedactionPass
    ) throws(Unreadable) -> [UInt8] {
        switch self {
        case .json: try JSONRedactor.redacted(content, isCut: isCut, in: pass)
        case .jsonLines: LineRedactor.redactedJSON(content, isCut: isCut, in: pass)
        case .form: FormRedactor.redacted(content, isCut: isCut, in: pass)
        case .xml: try XMLRedactor.redacted(content, isCut: isCut, in: pass)
        case .propertyList:
            if BinaryPropertyList.isOne(content) {
                try BinaryPropertyList.redacted(content, in: pass)
            } else {
                try XMLRedactor.redacted(content, isCut: isCut, in: pass)
            }
        case .eventStream: LineRedactor.redactedEvents(content, isCut: isCut, in: pass)
        case .multipart(let boundary):
            try MultipartRedactor.redacted(content, boundary: boundary, isCut: isCut, in: pass)
        case .message: try MessageRedactor.redacted(content, isCut: isCut, in: pass)
        case .table(let isTabbed):
            try TableRedactor.redacted(content, isTabbed: isTabbed, isCut: isCut, in: pass)
        case .unread: throw UnreadContent.reason
        }
    }

    /// Whether the content must not be decoded as one text: its parts have charsets of their own.
    var isBinary: Bool {
        switch self {
        case .multipart, .message, .unread: true
        default: false
        }
    }
}
