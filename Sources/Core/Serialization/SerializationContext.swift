// SPDX-License-Identifier: Apache-2.0

/// The information that a serializer gets about the call.
public struct SerializationContext: Sendable {
    /// The request at the start of the call.
    public let request: Request
    /// The serializers of the client.
    public let table: SerializerTable
    /// The most content bytes to collect in memory.
    public let maxBytes: Int
    /// The longest line, item or event of a stream, in bytes.
    public let maxLineBytes: Int

    /// Creates a context.
    public init(
        request: Request, table: SerializerTable = SerializerTable(),
        maxBytes: Int = 104_857_600, maxLineBytes: Int = 1_048_576
    ) {
        self.request = request
        self.table = table
        self.maxBytes = maxBytes
        self.maxLineBytes = maxLineBytes
    }
}

extension SerializationContext {
    /// Whether the response may have no content: it is a 204, a 205, or a response to HEAD.
    ///
    /// A 304 does not count, because it refers to content that was stored earlier.
    package func expectsNoContent(of status: HTTPStatus) -> Bool {
        status == 204 || status == 205 || request.method == .head
    }
}
