// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Any property list value.
public enum PropertyListValue: Sendable, Hashable {
    /// Text.
    case string(String)
    /// An integer.
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    /// A number with a fraction.
    case real(Double)
    /// `true` or `false`.
    case bool(Bool)
    /// A date.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// An array.
    case array([PropertyListValue])
    /// A dictionary, whose members have no order in a property list.
    case dictionary([String: PropertyListValue])

    #if canImport(FoundationEssentials)
    /// The format, XML or binary, with Foundation's names.
    public typealias Format = PropertyListDecoder.PropertyListFormat
    #else
    /// The format, XML or binary, with Foundation's names.
    public typealias Format = PropertyListSerialization.PropertyListFormat
    #endif

    /// The member with this name, or nil if the value is not a dictionary or has no such member.
    public subscript(name: String) -> PropertyListValue? {
        guard case .dictionary(let members) = self else { return nil }
        return members[name]
    }

    /// The element at this position, or nil if the value is not an array or is shorter.
    public subscript(position: Int) -> PropertyListValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else {
            return nil
        }
        return elements[position]
    }

    /// The text, or nil if the value is not text.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The integer, or nil if the value is not an integer.
    public var int: Int? {
        guard case .integer(let value) = self else { return nil }
        return Int(exactly: value)
    }
}

extension PropertyListValue {
    /// Parses an XML or binary property list, and refuses excessive nesting and cyclic references.
    public init(parsing content: Data) throws {
        try PropertyListGuard.check(content)
        if content.starts(with: Array("bplist00".utf8)) {
            self = try BinaryPropertyList(content).value()
        } else {
            var list = try XMLPropertyList(content)
            self = try list.value()
        }
    }

    /// Converts a Foundation property list: dictionaries, arrays, strings, numbers, dates and data.
    ///
    /// On Linux, an `NSNumber` with a whole value becomes an integer.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` for any other type, and for names
    ///   that are not strings.
    init(untyped value: Any) throws {
        do {
            self = try Self.convert(value)
        } catch {
            throw ClientError(
                .serialization,
                "the value is not a property list: keys must be strings, and values must be"
                    + " dictionaries, arrays, strings, numbers, dates or data", underlying: error)
        }
    }

    /// Encodes the value, which must be an array or a dictionary, as a property list.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if a string contains a character
    ///   that XML does not allow, or if the value is neither an array nor a dictionary.
    public func data(format: Format = .xml) throws -> Data {
        switch self {
        case .array, .dictionary: break
        default:
            throw ClientError(
                .serialization, "the top of a property list must be an array or a dictionary")
        }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let content = try encoder.encode(Encoded(value: self))
        if format == .xml { try PropertyListGuard.checkWritten(content) }
        return content
    }

    private static func convert(_ value: Any) throws -> PropertyListValue {
        switch value {
        case let value as String: return .string(value)
        case let value as [Any]: return .array(try value.map(convert))
        case let value as [String: Any]: return .dictionary(try value.mapValues(convert))
        case let value as Date: return .date(value)
        case let value as Data: return .data(value)
        #if !canImport(FoundationEssentials)
        // The original type is determined here, because an `NSNumber` converts to any number type.
        case let value as NSNumber: return convert(value)
        #endif
        case let truth as Bool where type(of: value) == Bool.self: return .bool(truth)
        case let value as any BinaryFloatingPoint: return .real(Double(value))
        case let value as any BinaryInteger:
            if let value = Int64(exactly: value) { return .integer(value) }
            if let value = UInt64(exactly: value) { return .unsigned(value) }
            throw CocoaError(.propertyListReadCorrupt)
        // On Linux, an `NSNumber` converts to each type that can represent the value.
        case let value as Int64: return .integer(value)
        case let value as UInt64: return .unsigned(value)
        case let value as Double: return .real(value)
        default: throw CocoaError(.propertyListReadCorrupt)
        }
    }

    #if !canImport(FoundationEssentials)
    private static func convert(_ number: NSNumber) -> PropertyListValue {
        switch UInt8(bitPattern: unsafe number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
        case UInt8(ascii: "c"), UInt8(ascii: "B"): return .bool(number.boolValue)
        default:
            return Int64(exactly: number).map(PropertyListValue.integer)
                ?? .unsigned(number.uint64Value)
        }
    }
    #endif

    private struct Encoded: Encodable {
        let value: PropertyListValue

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch value {
            case .string(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .real(let value): try container.encode(value)
            case .bool(let value): try container.encode(value)
            case .date(let value): try container.encode(value)
            case .data(let value): try container.encode(value)
            case .array(let elements): try container.encode(elements.map(Encoded.init))
            case .dictionary(let members): try container.encode(members.mapValues(Encoded.init))
            }
        }
    }
}
/// Parses the content as any property list value, XML or binary.
public struct PropertyListSerializer: ContentSerializer {
    /// Creates the serializer.
    public init() {}

    /// The media types of property lists.
    public var accept: [MediaType] { PropertyListFormat.mediaTypes }

    /// Returns the value.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> PropertyListValue {
        if content.isEmpty { throw EmptyContent.error("a property list") }
        return try PropertyListValue(parsing: content)
    }
}

extension ResponseSerializer where Self == PropertyListSerializer {
    /// Parses the content as any property list value.
    public static var propertyList: Self { PropertyListSerializer() }
}

extension Call {
    /// Sends the request and returns the content of the response as a property list value.
    public func propertyList() async throws -> PropertyListValue {
        try await serialize(
            with: table(PropertyListSerializer.self, "property-list") ?? PropertyListSerializer())
    }
}

/// Decodes XML and binary property lists with Foundation's `PropertyListDecoder`.
///
/// Before decoding, the decoder refuses excessive nesting and cyclic references.
public struct PropertyListValueDecoder: ValueDecoder {
    /// Creates a decoder.
    public init() {}

    /// Decodes a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
        try PropertyListGuard.check(content)
        return try PropertyListDecoder().decode(type, from: content)
    }
}

extension RequestBody {
    /// Writes a property list as `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be written.
    public static func propertyList(
        _ value: PropertyListValue, format: PropertyListValue.Format = .xml
    ) throws -> RequestBody { try encoded { try value.data(format: format) } }

    /// Encodes a value as a property list of type `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded.
    public static func propertyList(
        encoding value: some Encodable, format: PropertyListValue.Format = .xml
    ) throws -> RequestBody {
        try encoded {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let content = try encoder.encode(value)
            if format == .xml { try PropertyListGuard.checkWritten(content) }
            return content
        }
    }

    private static func encoded(_ encode: () throws -> Data) throws -> RequestBody {
        do {
            return .data(try encode(), type: .propertyList)
        } catch let error as ClientError {
            throw error
        } catch {
            throw ClientError(
                .serialization, "the value cannot be encoded as a property list: \(error)",
                underlying: error)
        }
    }
}

extension Client {
    /// Describes a request with a property list body.
    ///
    /// If the value cannot be encoded, the call fails before anything is sent.
    public func request(
        _ method: HTTPMethod, _ target: some TargetConvertible,
        propertyList value: some Encodable & Sendable,
        format: PropertyListValue.Format = .xml, headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, target, headers: headers,
            body: .catching { try .propertyList(encoding: value, format: format) })
    }
}

enum PropertyListFormat {
    static let mediaTypes: [MediaType] = [
        .propertyList, "application/x-apple-plist", "application/xml", "text/xml",
        "application/x-bplist",
    ]
}
