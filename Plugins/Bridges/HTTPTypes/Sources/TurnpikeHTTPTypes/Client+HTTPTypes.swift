// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import HTTPTypes
public import TurnpikeEssentials

extension Client {
    /// Sends a request through the gates, and returns when the head of the response has arrived.
    ///
    /// ```swift
    /// let (response, body) = try await client.send(
    ///     HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/"))
    /// for try await chunk in body { … }
    /// let trailers = try HTTPFields(body.trailers)
    /// ```
    ///
    /// A request without scheme and authority, as from an OpenAPI generator, is relative to the
    /// base URL. For example, `/users/1` below `https://api.example.com/v1` is
    /// `https://api.example.com/v1/users/1`.
    ///
    /// The transport reads the request's content when needed, and the caller reads the response's
    /// content. If the task is cancelled, `send` throws `CancellationError`. After the head, the
    /// reader of the content throws this error. To end the transfer, release the body or the body's
    /// `AsyncIterator`.
    /// - Parameters:
    ///   - request: The request, whose parts are sent unchanged.
    ///   - body: The content. `RequestBody.followed(by:)` adds trailer fields.
    ///   - baseURL: The base of a relative request, or nil for the base URL of the client.
    ///   - options: The options for gates and the transport.
    /// - Returns: The head and the content. The trailer fields are available after the end of the
    ///   content.
    /// - Throws: The errors of ``TurnpikeCore/Request/init(_:body:options:)`` before the send, or
    ///   the errors of the gates and the transport. `ClientError.Code.protocol` if `HTTPResponse`
    ///   cannot represent the head.
    public func send(
        _ request: HTTPRequest, body: RequestBody = .empty, baseURL: URL? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> (HTTPResponse, ResponseBody) {
        let parts = try RequestParts(request)
        let call: Call
        if let baseURL {
            call = self.request(
                Request(
                    parts.method, parts.target, relativeTo: baseURL, headers: parts.headers,
                    body: body, options: options))
        } else {
            var made = self.request(
                parts.method, parts.target, headers: parts.headers, body: body)
            made.request.options = options
            call = made
        }
        let response = try await call.response()
        return (try HTTPResponse(response.head), response.body)
    }
}
