import Foundation
public import TurnpikeCore

/// The value that the client's table gives for the content's type.
public struct AutoSerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// All that the table's serializers read.
    public func accept(in table: SerializerTable) -> [MediaType] { table.acceptForSerializers }

    /// What any of the table's serializers reads, for the type is not known before the head is.
    public func collectedBytes(in table: SerializerTable) -> Int { table.collectedBytes }

    /// Returns the value of the first serializer of the table that fits.
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
    /// The value that the client's table gives for the content's type.
    public static var auto: Self { AutoSerializer() }
}

extension Call {
    /// Sends the request and gives the value that the client's table has for the content's type.
    public func auto() async throws -> any Sendable {
        try await serialize(with: AutoSerializer())
    }
}
