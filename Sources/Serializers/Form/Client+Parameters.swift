import Foundation
public import TurnpikeCore

extension Body {
    /// A value's members as form fields.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder.
    /// - Returns: The body, of type `application/x-www-form-urlencoded`.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` where the value has no names.
    public static func form(
        encoding value: some Encodable, encoder: FormEncoder = FormEncoder()
    ) throws -> Body { try encoder.body(encoder.encode(value)) }

    /// Form fields in order.
    public static func form(_ fields: Query, encoder: FormEncoder = FormEncoder()) -> Body {
        encoder.body(encoder.encode(fields))
    }
}

extension Client {
    /// Describes a request with a value's members as parameters.
    ///
    /// What the query of the target holds stays, and the parameters stand behind it. A value that
    /// cannot be encoded fails the call before anything is sent.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or text that is resolved against the client's base URL.
    ///   - parameters: A value with named members; one without any is an empty form, with its
    ///     `Content-Type`, and nil no form at all.
    ///   - encoder: The encoder.
    ///   - destination: Where the parameters go.
    ///   - headers: Header fields; a `Content-Type` among them counts instead of the encoder's.
    /// - Returns: The call.
    public func request(
        _ method: HTTPMethod, _ target: Target, parameters: some Encodable & Sendable,
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
            return request(method, target.appending(encodedQuery: text), headers: headers)
        }
        return request(method, target, headers: headers, body: encoder.body(text))
    }

    /// Describes a GET with a value's members as its query.
    public func get(
        _ target: Target, parameters: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(), headers: HTTPHeaders = [:]
    ) -> Call {
        request(.get, target, parameters: parameters, encoder: encoder, headers: headers)
    }

    /// Describes a POST with a value's members as a form.
    public func post(
        _ target: Target, form: some Encodable & Sendable, encoder: FormEncoder = FormEncoder(),
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, parameters: form, encoder: encoder, in: .body, headers: headers)
    }
}

extension FormEncoder {
    fileprivate func body(_ text: String) -> Body {
        // A form without fields is a form.
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
