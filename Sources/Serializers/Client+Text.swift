// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

// What takes a `Target` takes text in a variable too, as in Core.
extension Client {
    /// Describes a POST of JSON to a URL, or to text that is resolved against the base URL.
    public func post(
        _ target: String, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        post(Target(target), json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PUT of JSON to a URL, or to text that is resolved against the base URL.
    public func put(
        _ target: String, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        put(Target(target), json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a PATCH with JSON of a URL, or of text that is resolved against the base URL.
    public func patch(
        _ target: String, json value: some Encodable & Sendable, encoder: JSONEncoder = .turnpike,
        query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        patch(Target(target), json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a request with JSON, for a URL or text that is resolved against the base URL.
    public func request(
        _ method: HTTPMethod, _ target: String, json value: some Encodable & Sendable,
        encoder: JSONEncoder = .turnpike, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, Target(target), json: value, encoder: encoder, query: query, headers: headers)
    }

    /// Describes a request with a property list, for a URL or text that is resolved against the base
    /// URL.
    public func request(
        _ method: HTTPMethod, _ target: String, propertyList value: some Encodable & Sendable,
        format: PropertyListSerialization.PropertyListFormat = .xml, headers: HTTPHeaders = [:]
    ) -> Call {
        request(method, Target(target), propertyList: value, format: format, headers: headers)
    }

    /// Describes a request with parameters, for a URL or text that is resolved against the base URL.
    public func request(
        _ method: HTTPMethod, _ target: String, parameters: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(), in destination: ParameterDestination = .byMethod,
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(
            method, Target(target), parameters: parameters, encoder: encoder, in: destination,
            headers: headers)
    }

    /// Describes a GET with parameters of a URL, or of text that is resolved against the base URL.
    public func get(
        _ target: String, parameters: some Encodable & Sendable,
        encoder: FormEncoder = FormEncoder(), headers: HTTPHeaders = [:]
    ) -> Call {
        get(Target(target), parameters: parameters, encoder: encoder, headers: headers)
    }

    /// Describes a POST of a form to a URL, or to text that is resolved against the base URL.
    public func post(
        _ target: String, form: some Encodable & Sendable, encoder: FormEncoder = FormEncoder(),
        headers: HTTPHeaders = [:]
    ) -> Call {
        post(Target(target), form: form, encoder: encoder, headers: headers)
    }

    /// Describes a POST of a multipart form to a URL, or to text that is resolved against the base
    /// URL.
    public func post(
        _ target: String, multipart form: MultipartFormData, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        post(Target(target), multipart: form, query: query, headers: headers)
    }
}
