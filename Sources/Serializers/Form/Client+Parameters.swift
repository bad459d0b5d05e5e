// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension RequestBody {
    /// Encodes the members of a value as form fields.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder.
    /// - Returns: The body, of type `application/x-www-form-urlencoded`.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value has no named
    ///   members.
    public static func form(
        encoding value: some Encodable, encoder: FormEncoder = FormEncoder()
    ) throws -> RequestBody { try encoder.body(encoder.encode(value)) }

    /// Encodes form fields in the given order.
    public static func form(_ fields: Query, encoder: FormEncoder = FormEncoder()) -> RequestBody {
        encoder.body(encoder.encode(fields))
    }
}

extension Client {
    /// Describes a request with the members of a value as parameters.
    ///
    /// Parameters are appended to the query of the target. If the value cannot be encoded, the call
    /// fails before anything is sent.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or a text that is resolved against the client's base URL.
    ///   - parameters: A value with named members. A value without members becomes an empty form
    ///     with `Content-Type`; nil becomes no form.
    ///   - encoder: The encoder.
    ///   - destination: The part of the request for the parameters.
    ///   - headers: Header fields, whose `Content-Type` replaces the type of the encoder.
    /// - Returns: The call.
    public func request(
        _ method: HTTPMethod, _ target: some TargetConvertible,
        parameters: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(), in destination: ParameterDestination = .byMethod,
        headers: HTTPHeaders = [:]
    ) -> Call {
        if (parameters as? any Nilable)?.isNil == true {
            return request(method, target, headers: headers)
        }
        let text: String
        do {
            text = try encoder.encode(parameters)
        } catch {
            return request(method, target, headers: headers, body: .catching { throw error })
        }
        guard destination.isBody(for: method) else {
            return request(
                method, target.asTarget().appending(encodedQuery: text), headers: headers)
        }
        return request(method, target, headers: headers, body: encoder.body(text))
    }

    /// Describes a GET with the members of a value as the query.
    public func get(
        _ target: some TargetConvertible, parameters: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(), headers: HTTPHeaders = [:]
    ) -> Call {
        request(.get, target, parameters: parameters, encoder: encoder, headers: headers)
    }

    /// Describes a POST with the members of a value as a form.
    public func post(
        _ target: some TargetConvertible, form: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(),
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, parameters: form, encoder: encoder, in: .body, headers: headers)
    }
}

extension FormEncoder {
    fileprivate func body(_ text: String) -> RequestBody {
        .data(Data(text.utf8), type: mediaType)
    }
}

private protocol Nilable {
    var isNil: Bool { get }
}

extension Optional: Nilable {
    fileprivate var isNil: Bool {
        if case .none = self { return true }
        return false
    }
}

extension ParameterDestination {
    fileprivate func isBody(for method: HTTPMethod) -> Bool {
        switch self {
        case .query: false
        case .body: true
        case .byMethod: method != .get && method != .head && method != .delete
        }
    }
}

/// The part of a request that contains the parameters.
public enum ParameterDestination: Sendable, Hashable {
    /// The query for GET, HEAD and DELETE, and the body for any other method.
    case byMethod
    /// The query, where the parameters follow the existing items.
    case query
    /// The body.
    case body
}
