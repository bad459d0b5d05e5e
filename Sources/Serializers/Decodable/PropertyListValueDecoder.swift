public import Foundation
public import TurnpikeCore

/// Decodes property lists, XML and binary, by Foundation's `PropertyListDecoder`, behind a check of
/// their structure: nesting that would overflow the stack and references that would never end are
/// refused.
public struct PropertyListValueDecoder: ValueDecoder {
    /// Creates a decoder.
    public init() {}

    /// Decodes a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
        try PropertyListGuard.check(content)
        return try PropertyListDecoder().decode(type, from: content)
    }
}
