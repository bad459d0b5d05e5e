// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import TurnpikeEssentials

extension Request {
    /// Creates a request from a request of swift-http-types, and content.
    ///
    /// Method, scheme, authority, path and fields are sent unchanged, or this initializer refuses
    /// the request. A request without scheme and authority is relative to the base URL of the stack
    /// (``/TurnpikeMiddleware/BaseURL``) or of
    /// ``TurnpikeCore/Client/send(_:body:baseURL:options:)``. OPTIONS with the path `*` applies to
    /// the server as a whole. Without an authority, the field `Host` is the authority. If authority
    /// and `Host` differ, the call fails.
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The content.
    ///   - options: The options for gates and the transport.
    /// - Throws: `ClientError.Code.invalidRequest` for parts that would change. The refused parts
    ///   are dot segments, a fragment, characters that must be percent-encoded, user information,
    ///   and a value that is not UTF-8. `ClientError.Code.unsupported` for CONNECT and extended
    ///   CONNECT. No error contains a path or a value.
    public init(
        _ request: HTTPRequest, body: RequestBody = .empty,
        options: RequestOptions = RequestOptions()
    ) throws {
        let parts = try RequestParts(request)
        self.init(
            parts.method, parts.target, headers: parts.headers, body: body, options: options)
    }
}

extension HTTPRequest {
    /// Creates the head of a request.
    ///
    /// The head has neither the content nor the options. The head has the media type and the length
    /// of the content only in existing header fields. If the request applies to the server as a
    /// whole, the path is `*`.
    /// - Parameter request: A request with an absolute URL.
    /// - Throws: `ClientError.Code.invalidRequest` for an invalid or relative URL, an invalid
    ///   method, or user information, which `:authority` cannot represent (RFC 9113 §8.3.1).
    ///   `ClientError.Code.unsupported` for CONNECT. `ClientError.Code.protocol` for fields that
    ///   `HTTPFields` cannot represent.
    public init(_ request: Request) throws {
        var bare = request
        bare.headers = [:]
        if let fault = bare.fault { throw ClientError(.invalidRequest, fault) }
        guard let method = Method(request.method.rawValue), request.method != .connect else {
            throw ClientError(.unsupported, "found CONNECT; expected a request for a resource")
        }
        let uri = request.targetURI
        if uri.userInformation != nil {
            throw ClientError(
                .invalidRequest,
                "found user information in the URL; expected the credential in the field"
                    + " Authorization")
        }
        // A valid URL has a scheme, two slashes, and an authority up to the path or query.
        let text = uri.absoluteForm
        let scheme = text.prefix { $0 != ":" }
        let rest = text.dropFirst(scheme.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        self.init(
            method: method, scheme: String(scheme), authority: String(authority),
            path: request.asksServer ? "*" : uri.originForm,
            headerFields: try HTTPFields(request.headers))
    }
}

extension HTTPResponse {
    /// Creates the head of a response, with the standard reason phrase of the status.
    /// - Parameter head: The head of a Turnpike response.
    /// - Throws: `ClientError.Code.protocol` for a status of more than three digits, and for fields
    ///   that `HTTPFields` cannot represent.
    public init(_ head: ResponseHead) throws {
        let code = head.status.code
        guard (0...999).contains(code) else {
            throw ClientError(
                .protocol, "found the status \(code); expected three digits (RFC 9110 §15)")
        }
        self.init(
            status: Status(code: code, reasonPhrase: head.status.reasonPhrase),
            headerFields: try HTTPFields(head.headers))
    }
}

extension Response {
    /// Creates the response to a request from a head of swift-http-types, and content.
    ///
    /// The reason phrase is dropped, because a reason phrase has no meaning (RFC 9112 §4).
    /// - Parameters:
    ///   - response: The head.
    ///   - request: The request for this response.
    ///   - body: The content.
    /// - Throws: `ClientError.Code.invalidRequest` for a value that is not UTF-8.
    public init(_ response: HTTPResponse, to request: Request, body: ResponseBody = .empty) throws {
        self.init(
            to: request, status: HTTPStatus(response.status.code),
            headers: try HTTPHeaders(response.headerFields), body: body)
    }
}
