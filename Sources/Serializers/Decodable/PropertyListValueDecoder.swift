// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Decodes XML and binary property lists with Foundation's `PropertyListDecoder`.
///
/// The structure is checked first: nesting that would overflow the stack and cyclic references are
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
