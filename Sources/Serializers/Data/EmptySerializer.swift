public import TurnpikeCore

/// No value: the content is passed over.
public struct EmptySerializer: ResponseSerializer {
    /// Creates the serializer.
    public init() {}

    /// What is worth reading to keep the connection.
    public func collectedBytes(in table: SerializerTable) -> Int { Self.readLimit }

    /// Drops the content, so that the connection can serve again.
    public func serialize(_ response: Response, context: SerializationContext) async throws {
        // What is announced as large is not worth reading to keep a connection.
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
    /// No value.
    public static var empty: Self { EmptySerializer() }
}

extension Call {
    /// Sends the request and passes the content of the response over.
    public func empty() async throws { try await serialize(with: EmptySerializer()) }
}
