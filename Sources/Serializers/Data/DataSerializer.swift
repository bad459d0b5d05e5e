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
