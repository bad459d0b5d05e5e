// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import TurnpikeEssentials

extension Request {
    /// Creates a request from one of swift-http-types, and content.
    ///
    /// Method, scheme, authority, path and fields are sent as they are written, or refused here. A
    /// request that has neither scheme nor authority is relative: its path goes below the base URL
    /// of the stack (``/TurnpikeMiddleware/BaseURL``), and
    /// ``TurnpikeCore/Client/send(_:body:baseURL:options:)`` has one too. The path `*` of OPTIONS
    /// asks the server as a whole. Without an authority the field `Host` names it; one that differs
    /// from the authority fails the call.
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The content.
    ///   - options: The options for gates and the transport.
    /// - Throws: `ClientError.Code.invalidRequest` for parts that would not be sent unchanged: dot
    ///   segments, a fragment, characters that must be percent-encoded, user information, a value
    ///   that is not UTF-8. `ClientError.Code.unsupported` for CONNECT, extended or not. No error
    ///   shows a path or a value.
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
    /// The content is not part of it; its media type and its length are not either, unless header
    /// fields name them. Nor are the options. The path is `*` if the request asks the server as a
    /// whole.
    /// - Parameter request: A request with an absolute URL.
    /// - Throws: `ClientError.Code.invalidRequest` for an invalid or relative URL or method and for
    ///   user information in the URL, which `:authority` has no place for (RFC 9113 §8.3.1);
    ///   `ClientError.Code.unsupported` for CONNECT; `ClientError.Code.protocol` for fields that
    ///   `HTTPFields` cannot hold.
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
        // A valid URL has a scheme, two slashes, and an authority up to its path or query.
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
