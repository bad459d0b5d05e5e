// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

final class FormSlot {
    private enum Content {
        case text(String)
        case null
        case array([FormSlot])
        case object([(name: String, slot: FormSlot)])
        case node(FormNode)
    }

    private var content: Content?

    var node: FormNode? {
        switch content {
        case nil: nil
        case .text(let text): .text(text)
        case .null: .null
        case .node(let node): node
        case .array(let slots): .array(slots.compactMap(\.node))
        case .object(let members):
            .object(members.compactMap { name, slot in slot.node.map { (name, $0) } })
        }
    }

    func set(_ text: String) { content = .text(text) }
    func setNull() { content = .null }
    func set(_ node: FormNode) { content = .node(node) }

    func beginArray() { if content == nil { content = .array([]) } }
    func beginObject() { if content == nil { content = .object([]) } }

    func append() -> FormSlot {
        let slot = FormSlot()
        if case .array(var slots) = content {
            content = nil
            slots.append(slot)
            content = .array(slots)
        }
        return slot
    }

    func append(_ name: String) -> FormSlot {
        let slot = FormSlot()
        if case .object(var members) = content {
            content = nil
            members.append((name, slot))
            content = .object(members)
        }
        return slot
    }

    var count: Int {
        switch content {
        case .array(let slots): slots.count
        case .object(let members): members.count
        default: 0
        }
    }

    /// Sorts a collection without an order: each group of `size` array elements, such as a key and
    /// a value, is sorted by the first element of the group.
    func sort(groupsOf size: Int) {
        switch content {
        case .object(let members): content = .object(members.sorted { $0.name < $1.name })
        case .array(let slots):
            let groups = stride(from: 0, to: slots.count, by: size).map { start in
                slots[start..<min(start + size, slots.count)]
            }
            content = .array(groups.sorted { Self.key($0) < Self.key($1) }.flatMap(\.self))
        default: break
        }
    }

    private static func key(_ group: ArraySlice<FormSlot>) -> String {
        "\(group.first?.node ?? .null)"
    }
}

struct FormValueEncoder: Encoder {
    let options: FormEncoder
    let slot: FormSlot
    var codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.beginObject()
        return KeyedEncodingContainer(FormKeyedContainer<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.beginArray()
        return FormUnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        FormSingleContainer(encoder: self)
    }

    func at(_ slot: FormSlot, _ key: any CodingKey) -> FormValueEncoder {
        FormValueEncoder(options: options, slot: slot, codingPath: codingPath + [key])
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let value as String: slot.set(value)
        case let value as Bool: slot.set(options.text(value))
        case let value as any BinaryInteger: slot.set(String(describing: value))
        case let value as Double: slot.set(String(value))
        case let value as Float: slot.set(String(value))
        case let value as URL: slot.set(value.absoluteString)
        case let value as Decimal: slot.set(value.description)
        case let value as Date:
            guard let text = try options.dates.text(value) else {
                return try value.encode(to: self)
            }
            slot.set(text)
        case let value as Data:
            switch options.data {
            case .base64: slot.set(value.base64EncodedString())
            case .deferred: try Array(value).encode(to: self)
            case .custom(let make): slot.set(try make(value))
            }
        case let value as JSONValue: slot.set(node(of: value))
        default:
            try value.encode(to: self)
            if let value = value as? any Unordered { slot.sort(groupsOf: type(of: value).group) }
        }
    }

    private func node(of value: JSONValue) -> FormNode {
        switch value {
        case .null: .null
        case .bool(let value): .text(options.text(value))
        // A whole number becomes an integer, even if the JSON text has a fraction.
        case .number(let value): .text(value.int.map(String.init) ?? value.description)
        case .string(let value): .text(value)
        case .array(let elements): .array(elements.map(node))
        case .object(let members): .object(members.map { ($0.name, node(of: $0.value)) })
        }
    }
}

/// A collection whose order may differ in each run of the program.
private protocol Unordered {
    /// The number of array elements that belong together, such as a key and a value.
    static var group: Int { get }
}
// A dictionary whose keys are neither text nor integers is encoded as alternating keys and values.
extension Dictionary: Unordered { fileprivate static var group: Int { 2 } }
extension Set: Unordered { fileprivate static var group: Int { 1 } }

struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func at(_ key: any CodingKey) -> FormValueEncoder {
        encoder.at(encoder.slot.append(key.stringValue), key)
    }

    func encodeNil(forKey key: Key) { at(key).slot.setNull() }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try at(key).encode(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { at(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        at(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { at(FormKey("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { at(key) }

    // A property that is nil is still a field, and the option `nils` decides about the text.
    private func put<Value: Encodable>(_ value: Value?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        try put(value, key)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }
}

struct FormUnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.slot.count }

    private func atEnd() -> FormValueEncoder {
        let key = FormKey(intValue: count)
        return encoder.at(encoder.slot.append(), key)
    }

    func encodeNil() { atEnd().slot.setNull() }

    func encode<Value: Encodable>(_ value: Value) throws { try atEnd().encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> { atEnd().container(keyedBy: type) }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { atEnd().unkeyedContainer() }

    func superEncoder() -> any Encoder { atEnd() }
}

struct FormSingleContainer: SingleValueEncodingContainer {
    let encoder: FormValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.slot.setNull() }

    func encode<Value: Encodable>(_ value: Value) throws { try encoder.encode(value) }
}

private struct FormKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(stringValue: String) { self.init(stringValue) }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}
