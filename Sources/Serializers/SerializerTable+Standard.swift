// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
import TurnpikeSupport

extension SerializerTable {
    /// The built-in serializers and decoders, in order of preference.
    ///
    /// | name | media types | value |
    /// |---|---|---|
    /// | `json-decoder` | `application/json`, `+json` | `Decodable` types |
    /// | `property-list-decoder` | `application/x-plist`, `application/xml`, `text/xml`, `+xml` | `Decodable` types |
    /// | `json` | `application/json`, `+json` | ``/TurnpikeCore/JSONValue`` |
    /// | `property-list` | `application/x-plist`, … | ``PropertyListValue`` |
    /// | `string` | `text/*` | `String` |
    /// | `data` | `*/*` | `Data` |
    public static var standard: SerializerTable {
        var table = SerializerTable()
        table.register(JSONValueDecoder(), as: "json-decoder", for: [.json])
        table.register(
            PropertyListValueDecoder(), as: "property-list-decoder",
            for: PropertyListFormat.mediaTypes)
        table.register(JSONSerializer(), as: "json", for: [.json, "text/json"])
        table.register(
            PropertyListSerializer(), as: "property-list", for: PropertyListFormat.mediaTypes)
        table.register(StringSerializer(), as: "string", for: [MediaType("text", "*")])
        table.register(DataSerializer(), as: "data", for: [.any])
        return table
    }
}

/// Returns the value of the serializer that the client's table has for the media type of the
/// content.
public struct AutoSerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// The media types of all serializers in the table.
    public func accept(in table: SerializerTable) -> [MediaType] { table.acceptForSerializers }

    /// The most that any serializer of the table collects, because the media type is unknown until
    /// the response head arrives.
    public func collectedBytes(in table: SerializerTable) -> Int { table.collectedBytes }

    /// Returns the value of the first serializer in the table that matches.
    public func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> any Sendable {
        let text = response.headers[.contentType]
        let type = text.flatMap { MediaType(parsing: $0) } ?? .octetStream
        guard let serializer = context.table.serializer(for: type) else {
            let peek = try await response.body.beginning(upTo: 1024)
            throw ClientError(
                .serialization,
                "the client's table has no serializer for \(Grammar.escaped(text ?? "?", upTo: 100));"
                    + " register one", response: response.head, responseBody: peek)
        }
        return try await Self.open(serializer, response, context)
    }

    private static func open<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ response: Response, _ context: SerializationContext
    ) async throws -> any Sendable {
        try await serializer.serialize(response, context: context)
    }
}

extension ResponseSerializer where Self == AutoSerializer {
    /// Returns the value of the serializer that the client's table has for the media type of the
    /// content.
    public static var auto: Self { AutoSerializer() }
}

extension Call {
    /// Sends the request and returns the value of the serializer that the client's table has for
    /// the media type of the content.
    public func auto() async throws -> any Sendable {
        try await serialize(with: AutoSerializer())
    }
}
