// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension ClientError {
    /// Decodes the content of the response that was refused, such as an API's own description of an
    /// error.
    ///
    /// ```swift
    /// do {
    ///     try await client.post("orders", json: order).decode(Order.self)
    /// } catch let error as ClientError where error.response?.status == 422 {
    ///     throw try error.decode(Rejection.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - table: The serializers; the media type of the content selects the decoder.
    /// - Returns: The value.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if no content was kept, if it was
    ///   cut, or if it is not of this type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using table: SerializerTable = .standard
    ) throws -> Value {
        guard let response, !responseBody.isEmpty else {
            throw ClientError(
                .serialization, "the error has no content to decode", underlying: self)
        }
        if isResponseBodyCut {
            throw ClientError(
                .serialization,
                "of the content the error keeps only the first \(responseBody.count) bytes; give"
                    + " Validate more keptBytes", underlying: self)
        }
        let type = response.headers[.contentType].flatMap { MediaType(parsing: $0) }
        guard let decoder = type.map({ table.decoder(for: $0) }) ?? table.firstDecoder else {
            throw ClientError(
                .serialization, "the table has no decoder for the error's content",
                underlying: self)
        }
        do {
            return try decoder.decode(Value.self, from: responseBody)
        } catch {
            throw ClientError.serialization(error, of: response, content: responseBody)
        }
    }
}
