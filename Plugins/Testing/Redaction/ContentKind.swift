// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A kind of content that is parsed completely or not at all.
///
/// Content of any other kind is searched for secrets as text or as bytes.
enum ContentKind: Equatable {
    case json
    /// One JSON text per line. Only lines that are not JSON are withheld.
    case jsonLines
    case form
    case xml
    case eventStream
    case multipart(boundary: String?)
    /// A CSV or TSV table with the column names in the first row.
    case table(isTabbed: Bool)
    /// Content that this library cannot parse, with the name for the placeholder.
    case unread(String)

    var name: String {
        switch self {
        case .json: "JSON"
        case .jsonLines: "JSON lines"
        case .form: "a form"
        case .xml: "XML"
        case .eventStream: "an event stream"
        case .multipart: "multipart content"
        case .table: "a table"
        case .unread(let name): name
        }
    }

    init?(_ type: MediaType) {
        if let name = Self.nameOfUnread(type) {
            self = .unread(name)
            return
        }
        switch (type.type, type.subtype) {
        case ("multipart", _): self = .multipart(boundary: type[parameter: "boundary"])
        case ("application", "x-www-form-urlencoded"): self = .form
        case ("text", "event-stream"): self = .eventStream
        case (_, let subtype) where subtype.hasSuffix("plist"): self = .xml
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

    /// Detects the kind by the first bytes, for content without a known type.
    init?(sniffing content: [UInt8], _ type: MediaType?) {
        if type?.type != "text", let boundary = MultipartRedactor.boundary(sniffing: content) {
            self = .multipart(boundary: boundary)
        } else if type?.type != "text", Self.isForm(content) {
            self = .form
        } else {
            return nil
        }
    }

    // Whether content looks like a form with names and values without spaces.
    private static func isForm(_ content: [UInt8]) -> Bool {
        guard content.count < 1 << 20, let equals = content.firstIndex(of: UInt8(ascii: "=")),
            equals > 0,
            content[..<equals].allSatisfy({
                Grammar.isAlphanumeric($0) || "-_.%[]+~*".utf8.contains($0)
            })
        else { return false }
        return content.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x3C }
    }
}

// MARK: - Content that is not read

extension ContentKind {
    // Returns the name of a type that is not read, or nil if content of the type is searched.
    private static func nameOfUnread(_ type: MediaType) -> String? {
        // The content is a message, as in `message/http` and `message/rfc822`.
        if type.type == "message" || type.essence == "application/http" { return "a message" }
        // In gRPC, a binary frame surrounds each JSON message.
        if type.subtype.hasPrefix("grpc") || type.subtype.hasPrefix("connect+") { return "gRPC" }
        let subtype = type.subtype.hasPrefix("x-") ? type.subtype.dropFirst(2) : type.subtype[...]
        // A subtype may have several words, such as `vnd.kubernetes.protobuf`.
        let parts = subtype.split { $0 == "." || $0 == "-" }
        let words = [type.suffix.map { $0[...] }, subtype].compactMap(\.self) + parts
        return words.lazy.compactMap { Self.names[$0] }.first
    }

    /// Detects compressed content, which is not read, by the first bytes.
    static func unread(sniffing content: [UInt8]) -> ContentKind? {
        beginnings.first { content.starts(with: $0.bytes) }.map { .unread($0.name) }
    }

    // The keys are subtypes without `x-`, or the suffix of the subtype.
    private static let names: [Substring: String] = {
        var names: [Substring: String] = [:]
        for (name, subtypes) in [
            ("CBOR", "cbor cbor-seq cose cose-key cose-key-set cwt"),
            ("MessagePack", "msgpack messagepack vnd.msgpack"),
            (
                "protobuf",
                "protobuf proto protobuffer vnd.google.protobuf google-protobuf vnd.protobuf"
            ),
            ("YAML", "yaml yml vnd.yaml"),
            ("TOML", "toml"),
            ("BSON", "bson vnd.bson"),
            ("Smile", "jackson-smile smile"),
            ("Avro", "avro avro-binary vnd.apache.avro vnd.apache.avro+binary"),
            (
                "Thrift",
                "thrift vnd.apache.thrift.binary vnd.apache.thrift.compact"
            ),
            ("Ion", "ion amazon.ion"),
            ("a Java object", "java-serialized-object"),
            ("a key file", "pkcs8 pkcs12 pfx java-keystore"),
            (
                "compressed content",
                "gzip zip zip-compressed zstd brotli bzip2 xz 7z-compressed gtar-compressed"
                    + " compressed-tar"
            ),
        ] {
            for subtype in subtypes.split(separator: " ") { names[subtype] = name }
        }
        return names
    }()

    private static let beginnings: [(bytes: [UInt8], name: String)] = [
        ([0x1F, 0x8B, 0x08], "compressed content"),
        ([0x50, 0x4B, 0x03, 0x04], "compressed content"),
        ([0x28, 0xB5, 0x2F, 0xFD], "compressed content"),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "compressed content"),
        ([0x42, 0x5A, 0x68, 0x39, 0x31, 0x41, 0x59], "compressed content"),
        ([0xD9, 0xD9, 0xF7], "CBOR"),
    ]
}
