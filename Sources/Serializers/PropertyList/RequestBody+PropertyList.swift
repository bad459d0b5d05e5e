// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

extension RequestBody {
    /// Writes a property list as `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be written.
    public static func propertyList(
        _ value: PropertyListValue, format: PropertyListSerialization.PropertyListFormat = .xml
    ) throws -> RequestBody { try encoded { try value.data(format: format) } }

    /// Encodes a value as a property list, as `application/x-plist`.
    /// - Parameters:
    ///   - value: The value.
    ///   - format: XML or binary.
    /// - Returns: The body.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded.
    public static func propertyList(
        encoding value: some Encodable, format: PropertyListSerialization.PropertyListFormat = .xml
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
    /// A value that cannot be encoded fails the call before anything is sent.
    public func request(
        _ method: HTTPMethod, _ target: Target, propertyList value: some Encodable & Sendable,
        format: PropertyListSerialization.PropertyListFormat = .xml, headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, target, headers: headers,
            body: .catching { try .propertyList(encoding: value, format: format) })
    }
}
