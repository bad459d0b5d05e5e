// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Returns the content unchanged.
public struct DataSerializer: ContentSerializer {
    /// Creates the serializer.
    public init() {}

    /// Returns the content.
    public func serialize(_ content: Data, of head: ResponseHead) -> Data { content }
}

extension ResponseSerializer where Self == DataSerializer {
    /// Returns the content unchanged.
    public static var data: Self { DataSerializer() }
}

extension Call {
    /// Sends the request and returns the content of the response.
    public func data() async throws -> Data {
        try await serialize(with: table(DataSerializer.self, "data") ?? DataSerializer())
    }
}

/// Returns no value and discards the content.
public struct EmptySerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// The most bytes that are read in order to reuse the connection.
    public func collectedBytes(in table: SerializerTable) -> Int { Self.readLimit }

    /// Reads and discards the content, so that the connection can be reused.
    public func serialize(_ response: Response, context: SerializationContext) async throws {
        // Reading large content costs more than a new connection.
        if let length = response.body.length, length > Self.readLimit {
            return response.body.cancel(.drop)
        }
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
            if count > Self.readLimit { break }
        }
    }

    private static let readLimit = 65_536
}

extension ResponseSerializer where Self == EmptySerializer {
    /// Returns no value and discards the content.
    public static var empty: Self { EmptySerializer() }
}

extension Call {
    /// Sends the request and discards the content of the response.
    public func empty() async throws { try await serialize(with: EmptySerializer()) }
}
