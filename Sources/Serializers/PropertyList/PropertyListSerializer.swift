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
