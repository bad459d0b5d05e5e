// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Decodes the content as text.
///
/// The encoding is the first known encoding in this order: the caller's encoding, the encoding of a
/// byte order mark, the `charset` parameter of `Content-Type`, and UTF-8. If bytes are not valid in
/// the encoding, the serializer throws an error and does not replace the bytes. An unknown charset
/// is also an error.
public struct StringSerializer: ContentSerializer {
    private let encoding: String.Encoding?

    /// Creates the serializer.
    /// - Parameter encoding: The encoding, which overrides the encoding that the response declares.
    public init(encoding: String.Encoding? = nil) { self.encoding = encoding }

    /// Text and, with lower preference, any media type.
    public var accept: [MediaType] { [MediaType("text", "*"), MediaType("*", "*", quality: 0.8)] }

    /// An empty string, for empty content.
    public var emptyOutput: String? { "" }

    /// Decodes the content.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> String {
        if content.isEmpty { throw EmptyContent.error("text") }
        if let encoding {
            guard let text = Charset.foundation(encoding).decode(content) else {
                throw ClientError(.serialization, "the content is not valid \(encoding)")
            }
            return text
        }
        if let (charset, length) = Charset.byteOrderMark(of: content) {
            return try Self.decode(
                content.dropFirst(length), charset, named: "the encoding of its byte order mark")
        }
        guard
            let label = head.headers[.contentType].flatMap({ MediaType(parsing: $0) })?[
                parameter: "charset"]
        else {
            return try Self.decode(content, .foundation(.utf8), named: "UTF-8, which is assumed")
        }
        guard let charset = Charset(label: label) else {
            throw ClientError(
                .serialization,
                "the charset \(Grammar.escaped(label, upTo: 40)) is not known; read the bytes with"
                    + " data(), or pass an encoding")
        }
        return try Self.decode(content, charset, named: label)
    }

    private static func decode(_ content: Data, _ charset: Charset, named name: String) throws
        -> String
    {
        if let text = charset.decode(content) { return text }
        throw ClientError(
            .serialization,
            "the content is not valid text in \(Grammar.escaped(name, upTo: 40)); read the bytes with"
                + " data(), or pass an encoding")
    }
}

extension ResponseSerializer where Self == StringSerializer {
    /// Decodes the content as text.
    public static var string: Self { StringSerializer() }

    /// Decodes the content as text in this encoding.
    public static func string(encoding: String.Encoding) -> Self {
        StringSerializer(encoding: encoding)
    }
}

extension Call {
    /// Sends the request and returns the content of the response as text.
    /// - Parameter encoding: The encoding; if nil, the encoding that the response declares.
    /// - Returns: The text.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the bytes are not valid in the
    ///   encoding.
    public func string(encoding: String.Encoding? = nil) async throws -> String {
        if let encoding { return try await serialize(with: StringSerializer(encoding: encoding)) }
        return try await serialize(
            with: table(StringSerializer.self, "string") ?? StringSerializer())
    }
}

/// Returns the content unchanged.
public struct DataSerializer: ContentSerializer {
    /// Creates the serializer.
    public init() {}

    /// Returns the content.
    public func serialize(_ content: Data, of head: ResponseHead) -> Data { content }
}

extension ResponseSerializer where Self == DataSerializer {
    /// Returns the content unchanged.
    public static var data: Self { DataSerializer() }
}

extension Call {
    /// Sends the request and returns the content of the response.
    public func data() async throws -> Data {
        try await serialize(with: DataSerializer())
    }
}

/// Returns no value and discards the content.
public struct EmptySerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// The maximum number of bytes that are read before the connection can serve other requests.
    public func collectedBytes(in table: SerializerTable) -> Int { Self.readLimit }

    /// Reads and discards the content, after which the connection can serve other requests.
    public func serialize(_ response: Response, context: SerializationContext) async throws {
        // A read of large content costs more than a new connection.
        if let length = response.body.length, length > Self.readLimit {
            return response.body.cancel(.drop)
        }
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
            if count > Self.readLimit { break }
        }
    }

    private static let readLimit = 65_536
}

extension ResponseSerializer where Self == EmptySerializer {
    /// Returns no value and discards the content.
    public static var empty: Self { EmptySerializer() }
}

extension Call {
    /// Sends the request and discards the content of the response.
    public func empty() async throws { try await serialize(with: EmptySerializer()) }
}
