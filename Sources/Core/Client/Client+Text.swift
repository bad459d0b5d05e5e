// SPDX-License-Identifier: Apache-2.0

public import Foundation

// A literal is a `Target`, and so is text in a variable. What is wrong with the text is the error of
// the call.
extension Client {
    /// Describes a call; the text is a URL, or resolved against ``baseURL``.
    public func request(
        _ method: HTTPMethod, _ target: String, query: Query = [:], headers: HTTPHeaders = [:],
        body: RequestBody = .empty
    ) -> Call {
        request(method, Target(target), query: query, headers: headers, body: body)
    }

    /// Describes a GET of a URL, or of text that is resolved against ``baseURL``.
    public func get(_ target: String, query: Query = [:], headers: HTTPHeaders = [:]) -> Call {
        get(Target(target), query: query, headers: headers)
    }

    /// Describes a HEAD of a URL, or of text that is resolved against ``baseURL``.
    public func head(_ target: String, query: Query = [:], headers: HTTPHeaders = [:]) -> Call {
        head(Target(target), query: query, headers: headers)
    }

    /// Describes a DELETE of a URL, or of text that is resolved against ``baseURL``.
    public func delete(_ target: String, query: Query = [:], headers: HTTPHeaders = [:]) -> Call {
        delete(Target(target), query: query, headers: headers)
    }

    /// Describes an OPTIONS of a URL, or of text that is resolved against ``baseURL``.
    public func options(_ target: String, query: Query = [:], headers: HTTPHeaders = [:]) -> Call {
        options(Target(target), query: query, headers: headers)
    }

    /// Describes a POST to a URL, or to text that is resolved against ``baseURL``.
    public func post(
        _ target: String, body: RequestBody = .empty, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        post(Target(target), body: body, query: query, headers: headers)
    }

    /// Describes a PUT to a URL, or to text that is resolved against ``baseURL``.
    public func put(
        _ target: String, body: RequestBody = .empty, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        put(Target(target), body: body, query: query, headers: headers)
    }

    /// Describes a PATCH of a URL, or of text that is resolved against ``baseURL``.
    public func patch(
        _ target: String, body: RequestBody = .empty, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        patch(Target(target), body: body, query: query, headers: headers)
    }
    /// Describes an upload to a URL, or to text that is resolved against ``baseURL``.
    public func upload(
        _ body: RequestBody, to target: String, method: HTTPMethod = .post,
        headers: HTTPHeaders = [:]
    ) -> Call {
        upload(body, to: Target(target), method: method, headers: headers)
    }
}

extension Request {
    /// Creates a request for a URL, or for text that is resolved against another one; see ``Target``
    /// for what is accepted.
    public init(
        _ method: HTTPMethod = .get, _ target: String, relativeTo base: URL? = nil,
        headers: HTTPHeaders = [:], body: RequestBody = .empty,
        options: RequestOptions = RequestOptions()
    ) {
        self.init(
            method, Target(target), relativeTo: base, headers: headers, body: body,
            options: options)
    }
}
