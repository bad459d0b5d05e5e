// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Decodes the content into a type, with the client's decoder for the content's media type.
public struct DecodableSerializer<Output: Decodable & Sendable>: ResponseSerializer {
    private let decoder: (any ValueDecoder)?
    private let ranges: [MediaType]

    /// Creates a serializer whose decoder is selected by the media type of the content.
    public init(_ type: Output.Type = Output.self) {
        decoder = nil
        ranges = []
    }

    /// Creates a serializer with a fixed decoder.
    /// - Parameters:
    ///   - type: The type.
    ///   - decoder: The decoder, used for content of any media type.
    ///   - accept: The media ranges for `Accept`.
    public init(
        _ type: Output.Type = Output.self, with decoder: any ValueDecoder,
        accept: [MediaType] = [.json]
    ) {
        self.decoder = decoder
        ranges = accept
    }

    /// The media types of the fixed decoder, or of all decoders in the table.
    public func accept(in table: SerializerTable) -> [MediaType] {
        decoder == nil ? table.acceptForDecoders : ranges
    }

    /// The whole content.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Decodes the value.
    ///
    /// A response that never has content yields the value of an ``EmptyResponse``, or nil for an
    /// optional type. If the content has no media type, the first decoder of the table reads it.
    public func serialize(_ response: Response, context: SerializationContext) async throws
        -> Output
    {
        let content = try await response.body.collect(upTo: context.maxBytes)
        if content.isEmpty { return try Self.empty(response, context) }
        let decoder = try decoder ?? Self.decoder(for: response, content, context)
        do {
            return try decoder.decode(Output.self, from: content)
        } catch {
            throw ClientError.serialization(error, of: response.head, content: content)
        }
    }

    private static func decoder(
        for response: Response, _ content: Data, _ context: SerializationContext
    ) throws -> any ValueDecoder {
        let text = response.headers[.contentType]
        let type = text.flatMap { MediaType(parsing: $0) }
        let decoder =
            text == nil
            ? context.table.firstDecoder : type.flatMap { context.table.decoder(for: $0) }
        if let decoder { return decoder }
        let other = type.flatMap { context.table.serializerName(of: $0) }.map {
            "; its serializer \"\($0)\" makes a value of its own type: use auto() or serialize(with:)"
        }
        throw ClientError(
            .serialization,
            "the client's table has no decoder for \(Grammar.escaped(text ?? "?", upTo: 100))"
                + (other ?? "; register one, or pass one to decode(_:with:)"),
            response: response.head, responseBody: content.prefix(1024),
            isResponseBodyCut: content.count > 1024)
    }

    private static func empty(_ response: Response, _ context: SerializationContext) throws
        -> Output
    {
        if context.expectsNoContent(of: response.status) {
            if let type = Output.self as? any EmptyResponse.Type,
                let value = type.emptyValue as? Output
            {
                return value
            }
            if let type = Output.self as? any ExpressibleByNilLiteral.Type,
                let value = type.init(nilLiteral: ()) as? Output
            {
                return value
            }
        }
        throw EmptyContent.error("a \(Output.self)").completed(response: response.head)
    }
}

extension ResponseSerializer {
    /// Decodes the content into a type, as ``TurnpikeCore/Call/decode(_:)`` does.
    public static func decode<Value: Decodable & Sendable>(
        _ type: Value.Type
    ) -> Self where Self == DecodableSerializer<Value> { DecodableSerializer(type) }
}

extension Call {
    /// Sends the request and decodes the content of the response.
    ///
    /// The media type of the content selects the decoder from the client's table.
    ///
    /// In a module whose declarations belong to the main actor by default, write `nonisolated`
    /// before the type. Without `nonisolated`, the compiler refuses the type, because its
    /// conformance to `Decodable` belongs to the main actor.
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` with the coding path of the
    ///   mismatch, the response head, and up to 1 KiB of the content.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self
    ) async throws -> Value {
        try await serialize(with: DecodableSerializer(type))
    }

    /// Sends the request, and returns both the decoded content and the response.
    ///
    /// ```swift
    /// let (user, response) = try await client.get("users/1").decoded(User.self)
    /// let tag = response.headers[.eTag]
    /// ```
    /// - Parameter type: The type of the value.
    /// - Returns: The value, and the response, whose body has been read.
    /// - Throws: The errors of ``decode(_:)``.
    public func decoded<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self
    ) async throws -> (value: Value, response: Response) {
        try await serialized(with: DecodableSerializer(type))
    }

    /// Sends the request and decodes the content with a decoder, for any media type.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, with decoder: any ValueDecoder
    ) async throws -> Value {
        try await serialize(with: DecodableSerializer(type, with: decoder))
    }
}

/// A type that has a value for responses without content: 204, 205, or a response to HEAD.
public protocol EmptyResponse {
    /// The value.
    static var emptyValue: Self { get }
}
