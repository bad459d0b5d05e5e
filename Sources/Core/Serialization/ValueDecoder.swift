public import Foundation

/// What decodes content of a format into `Decodable` types: JSON, property lists, another.
public protocol ValueDecoder: Sendable {
    /// Decodes a value.
    func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value
}
