// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Parses the content as any JSON value.
public struct JSONSerializer: ContentSerializer {
    private let options: JSONReadingOptions

    /// Creates the serializer.
    /// - Parameter options: The options of the parser.
    public init(options: JSONReadingOptions = JSONReadingOptions()) { self.options = options }

    /// The media type of JSON.
    public var accept: [MediaType] { [.json] }

    /// The value `null`, for empty content.
    public var emptyOutput: JSONValue? { .null }

    /// Parses the content.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> JSONValue {
        if content.isEmpty { throw EmptyContent.error("JSON") }
        return try JSONValue(parsing: content, options: options)
    }
}

extension ResponseSerializer where Self == JSONSerializer {
    /// Parses the content as any JSON value.
    public static var json: Self { JSONSerializer() }
}

extension Call {
    /// Sends the request and returns the content of the response as a JSON value.
    public func json() async throws -> JSONValue {
        try await serialize(with: table(JSONSerializer.self, "json") ?? JSONSerializer())
    }
}

/// Decodes JSON with Foundation's `JSONDecoder`.
///
/// Before decoding, the parser of ``/TurnpikeCore/JSONValue/init(parsing:options:)-(Data,_)``
/// checks the content. If the content is not JSON, the error contains the line and column. Without
/// this check, `JSONDecoder` would accept a comma after the last element, UTF-16, and malformed
/// members that the type does not name. With the check, ``TurnpikeCore/Call/json()`` and
/// ``TurnpikeCore/Call/decode(_:)`` accept the same texts. If several members have the same name,
/// the first member is decoded. A ``/TurnpikeCore/JSONValue``, alone or within a type, has exactly
/// the value of the text.
///
/// | exception | effect | reason |
/// |---|---|---|
/// | the decoder has `allowsJSON5` or `assumesTopLevelDictionary` | no check beforehand | the text may be more than JSON |
/// | its `keyDecodingStrategy` is not the default | a `JSONValue` within a type has renamed members and 64-bit integers | only the decoder knows the names |
/// | a number does not fit the type | `decode` throws | `JSONValue` holds integers of any size |
/// | you pass your own ``/TurnpikeCore/ValueDecoder`` | your decoder decides | |
public struct JSONValueDecoder: ValueDecoder {
    private let makeDecoder: @Sendable () -> JSONDecoder

    /// Creates a decoder.
    /// - Parameter makeDecoder: Creates and configures a decoder for each value. The default reads
    ///   dates as ISO 8601.
    public init(
        _ makeDecoder: @escaping @Sendable () -> JSONDecoder = {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
    ) {
        self.makeDecoder = makeDecoder
    }

    /// Decodes a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
        let decoder = makeDecoder()
        let isChecked = !decoder.allowsJSON5 && !decoder.assumesTopLevelDictionary
        if isChecked { try JSONValue.check(content) }
        if case .useDefaultKeys = decoder.keyDecodingStrategy {
            for (key, value) in JSONValue.userInfo(for: content) { decoder.userInfo[key] = value }
        }
        do {
            return try decoder.decode(type, from: content)
        } catch DecodingError.dataCorrupted(let context)
            where isChecked && context.codingPath.isEmpty
            && context.debugDescription == "The given data was not valid JSON."
        {
            // The content is valid JSON, and this error can only mean a number out of range.
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [], debugDescription: "A number does not fit in its type.",
                    underlyingError: context.underlyingError))
        }
    }
}

extension RequestBody {
    /// Encodes a value as JSON.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder; the default writes dates by ISO 8601.
    /// - Returns: The body, of type `application/json`.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded.
    public static func json(
        encoding value: some Encodable, encoder: JSONEncoder = .turnpike
    ) throws -> RequestBody {
        do {
            return .data(try encoder.encode(value), type: .json)
        } catch {
            throw ClientError(
                .serialization, "the value cannot be encoded as JSON: \(error)", underlying: error)
        }
    }
}

extension JSONEncoder {
    /// An encoder with ISO 8601 dates, unescaped slashes and sorted members.
    public static var turnpike: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return encoder
    }
}

extension Client {
    /// Describes a POST with a JSON body.
    public func post(
        _ target: some TargetConvertible, json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PUT with a JSON body.
    public func put(
        _ target: some TargetConvertible, json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.put, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PATCH with a JSON body.
    public func patch(
        _ target: some TargetConvertible, json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.patch, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a request with a JSON body.
    ///
    /// If the value cannot be encoded, the call fails before anything is sent.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or a text that is resolved against the client's base URL.
    ///   - value: The value.
    ///   - encoder: The encoder; the default writes ISO 8601 dates and sorts members by name.
    ///   - query: Items to append to the query of the target.
    ///   - headers: Header fields.
    /// - Returns: The call.
    public func request(
        _ method: HTTPMethod, _ target: some TargetConvertible,
        json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, target, query: query, headers: headers,
            body: .catching { try .json(encoding: value, encoder: encoder) })
    }
}
