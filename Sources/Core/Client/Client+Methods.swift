// SPDX-License-Identifier: Apache-2.0

// A target is a URL, or a text that is resolved against the base URL of the client.
extension Client {
    /// Describes a GET.
    public func get(
        _ target: some TargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.get, target, query: query, headers: headers)
    }

    /// Describes a HEAD.
    public func head(
        _ target: some TargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.head, target, query: query, headers: headers)
    }

    /// Describes a DELETE.
    public func delete(
        _ target: some TargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.delete, target, query: query, headers: headers)
    }

    /// Describes an OPTIONS.
    public func options(
        _ target: some TargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> Call {
        request(.options, target, query: query, headers: headers)
    }

    /// Describes a POST.
    public func post(
        _ target: some TargetConvertible, body: RequestBody = .empty, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.post, target, query: query, headers: headers, body: body)
    }

    /// Describes a PUT.
    public func put(
        _ target: some TargetConvertible, body: RequestBody = .empty, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.put, target, query: query, headers: headers, body: body)
    }

    /// Describes a PATCH.
    public func patch(
        _ target: some TargetConvertible, body: RequestBody = .empty, query: Query = [:],
        headers: HTTPHeaders = [:]
    ) -> Call {
        request(.patch, target, query: query, headers: headers, body: body)
    }
}
