// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension Response {
    /// Converts the response into a value.
    ///
    /// The limits and serializers come from the call that returned the response; without a call,
    /// the defaults apply. Call this method only once, because the body can be read only once.
    /// - Parameter serializer: Converts the response.
    /// - Returns: The value.
    /// - Throws: The errors of the serializer, with the request as the transport sent it.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Output {
        let context =
            serialization
            ?? SerializationContext(request: Request(.get, url), table: .standard)
        do {
            return try await serializer.serialize(self, context: context)
        } catch {
            throw completing(error)
        }
    }

    /// Decodes the content like ``TurnpikeCore/Call/decode(_:)``, after a check of the head.
    ///
    /// ```swift
    /// let response = try await client.get("users/1").response()
    /// if response.status == 404 { return nil }
    /// return try await response.decode(User.self)
    /// ```
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` with the coding path of the
    ///   mismatch, the response head, and up to 1 KiB of the content.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self
    ) async throws -> Value {
        try await serialize(with: DecodableSerializer(type))
    }
}

extension ClientError {
    /// Decodes the content of the refused response, such as an API's description of an error.
    ///
    /// ```swift
    /// do {
    ///     try await client.post("orders", json: order).decode(Order.self)
    /// } catch let error as ClientError where error.response?.status == 422 {
    ///     throw try error.decode(Rejection.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - table: The serializers; the media type of the content selects the decoder.
    /// - Returns: The value.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the error has no content, only
    ///   a part of the content, or content of another type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using table: SerializerTable = .standard
    ) throws -> Value {
        guard let response, !responseBody.isEmpty else {
            throw ClientError(
                .serialization, "the error has no content to decode", underlying: self)
        }
        if isResponseBodyCut {
            throw ClientError(
                .serialization,
                "the error keeps only the first \(responseBody.count) bytes of the content; give"
                    + " Validate more keptBytes", underlying: self)
        }
        let type = response.headers[.contentType].flatMap { MediaType(parsing: $0) }
        guard let decoder = type.map({ table.decoder(for: $0) }) ?? table.firstDecoder else {
            throw ClientError(
                .serialization, "the table has no decoder for the error's content",
                underlying: self)
        }
        do {
            return try decoder.decode(Value.self, from: responseBody)
        } catch {
            throw ClientError.serialization(error, of: response, content: responseBody)
        }
    }
}

/// The error for empty content, because empty content is neither text, JSON nor another value.
///
/// Empty content is valid only for a response that never has content (204, 205, a response to
/// HEAD).
enum EmptyContent {
    static func error(_ what: String) -> ClientError {
        ClientError(
            .serialization,
            "the response has no content, but \(what) is expected; use data() or empty() if that is valid"
        )
    }
}

extension Call {
    func table<Serializer: ResponseSerializer>(
        _ type: Serializer.Type, _ name: String
    ) -> Serializer? { serializers.serializer(type, named: name) }
}

extension ResponseBody {
    /// Returns the first bytes for an error, and discards the other bytes.
    /// - Throws: `CancellationError` if the task is cancelled.
    func beginning(upTo maxBytes: Int) async throws -> Data {
        var kept = Data()
        do {
            for try await chunk in self {
                kept.append(chunk.prefix(maxBytes - kept.count))
                if kept.count == maxBytes { break }
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            // The error of the rejection is more important than the error of the body.
        }
        return kept
    }
}

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

/// Returns the value of the serializer that the client has for the media type of the content.
public struct AutoSerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// The media types of all serializers in the table.
    public func accept(in table: SerializerTable) -> [MediaType] { table.acceptForSerializers }

    /// The maximum of all serializers, because the media type is unknown before the head arrives.
    public func collectedBytes(in table: SerializerTable) -> Int { table.collectedBytes }

    /// Returns the value of the first matching serializer in the table.
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
        return try await serializer.serialize(response, context: context)
    }
}

extension ResponseSerializer where Self == AutoSerializer {
    /// Returns the value of the serializer for the media type of the content.
    public static var auto: Self { AutoSerializer() }
}

extension Call {
    /// Sends the request, and returns the value of the serializer for the content's media type.
    public func auto() async throws -> any Sendable {
        try await serialize(with: AutoSerializer())
    }
}
