import Foundation
public import TurnpikeCore

/// The content decoded into a type, by the decoder that the client's table has for the content's
/// type.
public struct DecodableSerializer<Output: Decodable & Sendable>: ResponseSerializer {
    private let decoder: (any ValueDecoder)?
    private let ranges: [MediaType]

    /// Creates a serializer that lets the content's type choose from the client's table.
    public init(_ type: Output.Type = Output.self) {
        decoder = nil
        ranges = []
    }

    /// Creates a serializer with a decoder of its own.
    /// - Parameters:
    ///   - type: The type.
    ///   - decoder: What decodes, whatever the content's type.
    ///   - accept: The media ranges for `Accept`.
    public init(
        _ type: Output.Type = Output.self, with decoder: any ValueDecoder,
        accept: [MediaType] = [.json]
    ) {
        self.decoder = decoder
        ranges = accept
    }

    /// What the decoder reads, or those of the table.
    public func accept(in table: SerializerTable) -> [MediaType] {
        decoder == nil ? table.acceptForDecoders : ranges
    }

    /// All.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Returns the value.
    ///
    /// A response that never has content gives the value of an ``EmptyResponse``, or nil for an
    /// optional type. Content without a type is read by the table's first decoder.
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
        let decoder =
            if let text { MediaType(parsing: text).flatMap(context.table.decoder(for:)) } else {
                context.table.firstDecoder
            }
        if let decoder { return decoder }
        throw ClientError(
            .serialization,
            "the client's table has no decoder for \(Grammar.escaped(text ?? "?", upTo: 100));"
                + " register one, or pass one to decode(_:with:)",
            response: response.head, responseBody: content.prefix(1024))
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

/// A type that has a value for a response without content: a 204, a 205, an answer to HEAD.
public protocol EmptyResponse {
    /// The value.
    static var emptyValue: Self { get }
}

/// The value of a response without content.
public struct Empty: EmptyResponse, Codable, Sendable, Hashable {
    /// Creates the value.
    public init() {}

    /// The value.
    public static var emptyValue: Empty { Empty() }
}

extension ResponseSerializer {
    /// The content decoded into a type.
    public static func decodable<Value: Decodable & Sendable>(
        _ type: Value.Type
    ) -> Self where Self == DecodableSerializer<Value> { DecodableSerializer(type) }
}

extension Call {
    /// Sends the request and decodes the content of the response.
    ///
    /// The decoder is chosen by the content's type: JSON, property list, or what the client's table
    /// has.
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` with the path of what does not
    ///   fit, the head, and up to 1 KiB of the content.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self
    ) async throws -> Value {
        try await serialize(with: DecodableSerializer(type))
    }

    /// Sends the request and decodes the content of the response, whatever its type.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, with decoder: any ValueDecoder
    ) async throws -> Value {
        try await serialize(with: DecodableSerializer(type, with: decoder))
    }
}
