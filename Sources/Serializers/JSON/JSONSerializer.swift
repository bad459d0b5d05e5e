// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Parses the content as any JSON value.
public struct JSONSerializer: ContentSerializer {
    private let options: JSONReadingOptions

    /// Creates the serializer.
    /// - Parameter options: How the text is parsed.
    public init(options: JSONReadingOptions = JSONReadingOptions()) { self.options = options }

    /// JSON.
    public var accept: [MediaType] { [.json] }

    /// `null`.
    public var emptyOutput: JSONValue? { .null }

    /// Returns the value.
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
