// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

extension JSONValue: Codable {
    /// Decodes any value of a format with the types of JSON.
    ///
    /// With the decoders of this library, the result is exactly the value of the JSON text,
    /// including integers of any size. With a plain `JSONDecoder`, an integer beyond 64 bits
    /// becomes the nearest `Double`.
    public init(from decoder: any Decoder) throws {
        let source = JSONSource.key.flatMap { decoder.userInfo[$0] as? JSONSource }
        if let value = source?.value(at: decoder.codingPath) {
            self = value
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Double.self), let number = JSONNumber(value) {
            self = .number(number)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            let members = try decoder.container(keyedBy: Name.self)
            self = .object(
                JSONObject(
                    try members.allKeys.map {
                        ($0.stringValue, try members.decode(Self.self, forKey: $0))
                    }
                ))
        }
    }

    /// Encodes the value; an integer beyond 64 bits becomes the nearest `Double`.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for member in object {
                try container.encode(member.value, forKey: Name(stringValue: member.name))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let number):
            var container = encoder.singleValueContainer()
            if number.isInteger, let value = number.int {
                try container.encode(value)
            } else if number.isInteger, let value = number.uint64 {
                try container.encode(value)
            } else {
                try container.encode(number.double)
            }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension JSONValue {
    /// Returns entries for a decoder's `userInfo` with which each ``JSONValue`` equals the text.
    ///
    /// A decoder of another text, such as JSON within a string, must not have these entries.
    /// - Parameter content: The text. The text must have the names that the decoder uses.
    /// - Returns: The entries for the `userInfo` of the decoder.
    public static func userInfo(for content: Data) -> [CodingUserInfoKey: any Sendable] {
        JSONSource.key.map { [$0: JSONSource(content)] } ?? [:]
    }
}

/// The JSON text of a `Decoder`, for values that must be exact.
///
/// Foundation's decoder cannot return an integer beyond 64 bits, or distinguish `1` from `1.0`. A
/// ``JSONValue`` therefore gets the value at its coding path from this source in the `userInfo`.
final class JSONSource: Sendable {
    static let key = CodingUserInfoKey(rawValue: "TurnpikeCore.JSONSource")

    private let content: Data
    // The text is parsed when the first value is requested.
    private let root = Mutex<JSONValue??>(nil)

    init(_ content: Data) { self.content = content }

    func value(at path: [any CodingKey]) -> JSONValue? {
        var value = root.withLock { root in
            if let root { return root }
            let parsed = try? JSONValue(parsing: content)
            root = .some(parsed)
            return parsed
        }
        for key in path {
            value =
                if case .array = value { key.intValue.flatMap { value?[$0] } } else {
                    value?[key.stringValue]
                }
        }
        return value
    }
}
