// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
import TurnpikeSupport

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
