// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A reply of a server (RESP2).
public enum ValkeyValue: Sendable, Hashable {
    /// There is no such value.
    case null
    /// A short text, such as `OK`.
    case status(String)
    /// An integer.
    case integer(Int64)
    /// Bytes.
    case bytes(Data)
    /// Several values.
    case array([ValkeyValue])
    /// An error within an array; as the whole reply, it is thrown.
    case error(String)
}

extension ValkeyValue: DescriptionReflectable {
    /// The kind of value, and its size instead of its bytes, which may be a secret.
    public var description: String {
        switch self {
        case .null: "null"
        case .status(let text): text
        case .integer(let number): String(number)
        case .bytes(let data): "(\(data.count) bytes)"
        case .array(let values): "[\(values.map(\.description).joined(separator: ", "))]"
        case .error(let text): "error: \(ValkeyFault.told(text))"
        }
    }
}
