// SPDX-License-Identifier: Apache-2.0

/// Content of a type that no parser here reads, so that nobody can tell its secrets from the rest.
struct UnreadContent: Equatable {
    /// The name in a placeholder.
    let name: String

    static var reason: Unreadable { Unreadable("nothing here reads it") }

    /// Creates the kind that a media type stands for, or nil if content of the type is searched.
    init?(_ type: MediaType) {
        // JSON of gRPC has a binary frame around each message.
        if type.subtype.hasPrefix("grpc") || type.subtype.hasPrefix("connect+") {
            name = "gRPC"
            return
        }
        let subtype = type.subtype.hasPrefix("x-") ? type.subtype.dropFirst(2) : type.subtype[...]
        // As in `vnd.kubernetes.protobuf`.
        let parts = subtype.split { $0 == "." || $0 == "-" }
        let words = [type.suffix.map { $0[...] }, subtype].compactMap(\.self) + parts
        guard let name = words.lazy.compactMap({ Self.names[$0] }).first else { return nil }
        self.name = name
    }

    /// Creates the kind that the first bytes stand for: what is compressed.
    init?(sniffing content: [UInt8]) {
        guard let name = Self.beginnings.first(where: { content.starts(with: $0.bytes) })?.name
        else { return nil }
        self.name = name
    }

    // By subtype without `x-`, or by the suffix of the subtype.
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
