// SPDX-License-Identifier: Apache-2.0

/// Encodes the members of a form value.
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

    // A nil property is still a field; the encoder's `nils` option decides how it is written.
    private func encodeOptional<Value: Encodable>(_ value: Value?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }

    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
        try encodeOptional(value, key)
    }
}

/// Encodes the elements of a form value.
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

/// Encodes a single form value.
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
