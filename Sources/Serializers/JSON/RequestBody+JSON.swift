// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

extension RequestBody {
    /// Encodes a value as JSON.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder; the default writes dates by ISO 8601.
    /// - Returns: The body, of type `application/json`.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value cannot be encoded.
    public static func json(
        encoding value: some Encodable, encoder: JSONEncoder = .turnpike
    ) throws -> RequestBody {
        do {
            return .data(try encoder.encode(value), type: .json)
        } catch {
            throw ClientError(
                .serialization, "the value cannot be encoded as JSON: \(error)", underlying: error)
        }
    }
}

extension JSONEncoder {
    /// An encoder with ISO 8601 dates, unescaped slashes and sorted members, so that equal values
    /// make equal bodies.
    public static var turnpike: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        return encoder
    }
}

extension Client {
    /// Describes a POST with a JSON body.
    public func post(
        _ target: Target, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PUT with a JSON body.
    public func put(
        _ target: Target, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.put, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PATCH with a JSON body.
    public func patch(
        _ target: Target, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.patch, target, json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a request with a JSON body.
    ///
    /// A value that cannot be encoded fails the call before anything is sent.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or text that is resolved against the client's base URL.
    ///   - value: The value.
    ///   - encoder: The encoder; the default writes ISO 8601 dates and sorts members by name.
    ///   - query: Items to append to the query of the target.
    ///   - headers: Header fields.
    /// - Returns: The call.
    public func request(
        _ method: HTTPMethod, _ target: Target, json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, target, query: query, headers: headers,
            body: .catching { try .json(encoding: value, encoder: encoder) })
    }
}
