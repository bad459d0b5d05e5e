// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Parses the content as any property list value, XML or binary.
public struct PropertyListSerializer: ContentSerializer {
    /// Creates the serializer.
    public init() {}

    /// The media types of property lists.
    public var accept: [MediaType] { PropertyListFormat.mediaTypes }

    /// Returns the value.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> PropertyListValue {
        if content.isEmpty { throw EmptyContent.error("a property list") }
        return try PropertyListValue(parsing: content)
    }
}

extension ResponseSerializer where Self == PropertyListSerializer {
    /// Parses the content as any property list value.
    public static var propertyList: Self { PropertyListSerializer() }
}

extension Call {
    /// Sends the request and returns the content of the response as a property list value.
    public func propertyList() async throws -> PropertyListValue {
        try await serialize(
            with: table(PropertyListSerializer.self, "property-list") ?? PropertyListSerializer())
    }
}

/// Decodes XML and binary property lists with Foundation's `PropertyListDecoder`.
///
/// The structure is checked first: nesting that would overflow the stack and cyclic references are
/// refused.
public struct PropertyListValueDecoder: ValueDecoder {
    /// Creates a decoder.
    public init() {}

    /// Decodes a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
        try PropertyListGuard.check(content)
        return try PropertyListDecoder().decode(type, from: content)
    }
}

extension RequestBody {
    /// Writes a property list as `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be written.
    public static func propertyList(
        _ value: PropertyListValue, format: PropertyListSerialization.PropertyListFormat = .xml
    ) throws -> RequestBody { try encoded { try value.data(format: format) } }

    /// Encodes a value as a property list, as `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded.
    public static func propertyList(
        encoding value: some Encodable, format: PropertyListSerialization.PropertyListFormat = .xml
    ) throws -> RequestBody {
        try encoded {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let content = try encoder.encode(value)
            if format == .xml { try PropertyListGuard.checkWritten(content) }
            return content
        }
    }

    private static func encoded(_ encode: () throws -> Data) throws -> RequestBody {
        do {
            return .data(try encode(), type: .propertyList)
        } catch let error as ClientError {
            throw error
        } catch {
            throw ClientError(
                .serialization, "the value cannot be encoded as a property list: \(error)",
                underlying: error)
        }
    }
}

extension Client {
    /// Describes a request with a property list body.
    ///
    /// A value that cannot be encoded fails the call before anything is sent.
    public func request(
        _ method: HTTPMethod, _ target: Target, propertyList value: some Encodable & Sendable,
        format: PropertyListSerialization.PropertyListFormat = .xml, headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, target, headers: headers,
            body: .catching { try .propertyList(encoding: value, format: format) })
    }
}

/// The media types in use for property lists; none is registered.
enum PropertyListFormat {
    static let mediaTypes: [MediaType] = [
        .propertyList, "application/x-apple-plist", "application/xml", "text/xml",
        "application/x-bplist",
    ]
}
