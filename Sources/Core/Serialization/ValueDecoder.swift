// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Decodes content of a format, such as JSON or property lists, into `Decodable` types.
public protocol ValueDecoder: Sendable {
    /// Decodes a value.
    func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value
}
