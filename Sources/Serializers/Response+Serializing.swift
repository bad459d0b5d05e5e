// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Response {
    /// Converts the response into a value.
    ///
    /// The limits and the serializers are those of the call that returned the response; a response
    /// of no call has the defaults. The body can be read once, so this can be called once.
    /// - Parameter serializer: How to convert it.
    /// - Returns: The value.
    /// - Throws: What the serializer throws, with the request as it was sent.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Output {
        let context =
            serialization
            ?? SerializationContext(request: Request(.get, url), table: .standard)
        do {
            return try await serializer.serialize(self, context: context)
        } catch {
            throw record?.completed(error) ?? error
        }
    }

    /// Decodes the content, as ``TurnpikeCore/Call/decode(_:)`` does, after the head was looked at.
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
