// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// Any JSON value (RFC 8259), with members in order and exact integers of any size.
///
/// ```swift
/// let value: JSONValue = ["id": 1, "tags": ["a", "b"]]
/// let tag = value["tags"]?[0]?.string
/// ```
public enum JSONValue: Hashable, Sendable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// The member with this name, or nil if the value is not an object or has no such member.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[name]
    }

    /// The element at this position, or nil if the value is not an array or is shorter.
    public subscript(position: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else {
            return nil
        }
        return elements[position]
    }

    /// The string, or nil if the value is not a string.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The number as an `Int`, or nil if the value is not an integer in this range.
    public var int: Int? {
        guard case .number(let value) = self else { return nil }
        return value.int
    }

    /// The number as a `Double`, or nil if the value is not a number.
    public var double: Double? {
        guard case .number(let value) = self else { return nil }
        return value.double
    }

    /// The Boolean value, or nil if the value is not Boolean.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, or nil if the value is not an array.
    public var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, or nil if the value is not an object.
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
    /// Creates an object; of members with the same name, the first counts.
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
    /// The kind of the value for messages, for example `a number`.
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

    /// Parses JSON text in UTF-8, and skips a byte order mark.
    ///
    /// Time and memory are linear in the size of the text. A number beyond the range of `Double` is
    /// rejected. An integer beyond 64 bits is exact.
    /// - Throws: ``JSONSyntaxError``.
    public init(parsing data: Data, options: JSONReadingOptions = .init()) throws(JSONSyntaxError) {
        let result = unsafe data.withUnsafeBytes { buffer -> Result<JSONValue, JSONSyntaxError> in
            let bytes = unsafe buffer.bindMemory(to: UInt8.self)
            var parser = unsafe JSONParser(bytes: bytes, options: options)
            return Result { () throws(JSONSyntaxError) in try unsafe parser.parseDocument() }
        }
        self = try result.get()
    }

    /// Checks JSON text as ``init(parsing:options:)-(Data,_)`` does, without creating a value.
    public static func check(_ data: Data) throws(JSONSyntaxError) {
        let result = unsafe data.withUnsafeBytes { buffer -> Result<Void, JSONSyntaxError> in
            let bytes = unsafe buffer.bindMemory(to: UInt8.self)
            var parser = unsafe JSONParser(
                bytes: bytes, options: JSONReadingOptions(), keepsValues: false)
            return Result { () throws(JSONSyntaxError) in _ = try unsafe parser.parseDocument() }
        }
        try result.get()
    }

    /// Parses JSON text.
    /// - Throws: ``JSONSyntaxError``.
    public init(parsing text: String, options: JSONReadingOptions = .init()) throws(JSONSyntaxError)
    {
        try self.init(parsing: Data(text.utf8), options: options)
    }
}

/// Options for parsing JSON text.
public struct JSONReadingOptions: Hashable, Sendable {
    /// The maximum nesting of arrays and objects.
    public var maxDepth: Int
    /// The maximum number of bytes of a number.
    public var maxNumberBytes: Int
    /// Whether an object is rejected if several members have the same name.
    ///
    /// If false, the first member counts, as in Foundation's `JSONDecoder`. Set this option if
    /// another program reads the same text.
    public var refusesDuplicateNames: Bool

    /// Creates options; the default depth is the depth of Foundation's `JSONDecoder`.
    public init(
        maxDepth: Int = 512, maxNumberBytes: Int = 1024,
        refusesDuplicateNames: Bool = false
    ) {
        self.maxDepth = maxDepth
        self.maxNumberBytes = maxNumberBytes
        self.refusesDuplicateNames = refusesDuplicateNames
    }
}

/// The fault of a text that is not JSON, and its position.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, which contains at most one byte of the text.
    public let reason: String
    let offset: Int
    /// The line of the fault, starting at 1.
    public let line: Int
    /// The column of the fault in bytes, starting at 1.
    public let column: Int

    /// The position and the reason, for example `line 3, column 14: …`.
    public var description: String { "line \(line), column \(column): \(reason)" }
}
