// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Any JSON value (RFC 8259), keeping the order of members and exact integers of any size.
///
/// ```swift
/// let value: JSONValue = ["id": 1, "tags": ["a", "b"]]
/// let tag = value["tags"]?[0]?.string
/// ```
public enum JSONValue: Hashable, Sendable {
    /// The value `null`.
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// The member with a name, or nil if the value is not an object or has no such member.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[name]
    }

    /// The element at a position, or nil if the value is not an array or is shorter.
    public subscript(position: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else {
            return nil
        }
        return elements[position]
    }

    /// The string, or nil for another kind.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The number as an `Int`, or nil if it is not an integer in range, or the value is not a
    /// number.
    public var int: Int? {
        guard case .number(let value) = self else { return nil }
        return value.int
    }

    /// The number as a `Double`, or nil for another kind.
    public var double: Double? {
        guard case .number(let value) = self else { return nil }
        return value.double
    }

    /// The Boolean value, or nil for another kind.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, or nil for another kind.
    public var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, or nil for another kind.
    public var object: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number.
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    /// Creates a number; a literal that is not finite becomes `null`.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(Self.number) ?? .null }
    /// Creates a Boolean value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object; of several members with one name, the first is kept.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

extension JSONValue {
    /// Whether both values are equal: strings byte by byte, members of objects in any order.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): Grammar.areSame(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON text.
    public var description: String { String(decoding: jsonBytes(), as: UTF8.self) }
}

extension JSONValue {
    /// The kind of the value, as messages name it: `a number`.
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
