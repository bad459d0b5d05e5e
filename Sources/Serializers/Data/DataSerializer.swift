public import Foundation
public import TurnpikeCore

/// The content as it is.
public struct DataSerializer: ContentSerializer {
    /// Creates the serializer.
    public init() {}

    /// Returns the content.
    public func serialize(_ content: Data, of head: ResponseHead) -> Data { content }
}

extension ResponseSerializer where Self == DataSerializer {
    /// The content as it is.
    public static var data: Self { DataSerializer() }
}

extension Call {
    /// Sends the request and gives the content of the response.
    public func data() async throws -> Data {
        try await serialize(with: table(DataSerializer.self, "data") ?? DataSerializer())
    }
}
