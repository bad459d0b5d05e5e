// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// Decodes the content as text.
///
/// The encoding is the first of these that is present: a given encoding, a byte order mark, a
/// `charset` parameter in `Content-Type`. Otherwise it is UTF-8. Bytes that are not valid in the
/// encoding throw an error and are never replaced. An unknown charset is an error too.
public struct StringSerializer: ContentSerializer {
    private let encoding: String.Encoding?

    /// Creates the serializer.
    /// - Parameter encoding: The encoding, whatever the response declares.
    public init(encoding: String.Encoding? = nil) { self.encoding = encoding }

    /// Text, or with lower preference any media type.
    public var accept: [MediaType] { [MediaType("text", "*"), MediaType("*", "*", quality: 0.8)] }

    /// The empty string.
    public var emptyOutput: String? { "" }

    /// Returns the text.
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

    /// Decodes the content as text in a given encoding.
    public static func string(encoding: String.Encoding) -> Self {
        StringSerializer(encoding: encoding)
    }
}

extension Call {
    /// Sends the request and returns the content of the response as text.
    /// - Parameter encoding: The encoding, whatever the response declares; nil uses the declared
    ///   encoding.
    /// - Returns: The text.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the bytes are not valid in
    ///   their encoding.
    public func string(encoding: String.Encoding? = nil) async throws -> String {
        if let encoding { return try await serialize(with: StringSerializer(encoding: encoding)) }
        return try await serialize(
            with: table(StringSerializer.self, "string") ?? StringSerializer())
    }
}
