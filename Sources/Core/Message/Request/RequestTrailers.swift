// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension RequestBody {
    /// Returns the same content followed by trailer fields; see ``followed(by:_:)``.
    public func followed(by trailers: HTTPHeaders) -> RequestBody {
        if let fault = trailers.sendingFault {
            return .catching { throw ClientError(.invalidRequest, fault) }
        }
        return trailers.isEmpty ? self : followed(by: trailers.map(\.name)) { trailers }
    }

    /// Returns the same content followed by trailer fields that a closure returns.
    ///
    /// The closure runs for each send, after the content (RFC 9110 §6.5), and a retry may send
    /// other values. The field `Trailer` contains the names. No length is sent, because HTTP/1.1
    /// allows trailers only with chunked content. Servers may discard the trailer fields.
    ///
    /// If the transport does not have ``TransportCapabilities/requestTrailers``, the call fails
    /// with ``ClientError/Code/unsupported`` before anything is sent. If RFC 9110 §6.5.1 forbids a
    /// name in trailers, the call fails with ``ClientError/Code/invalidRequest`` before anything is
    /// sent. If `Trailer` does not contain a field, or the value has a control character, the call
    /// fails with the same code after the content, and the request is aborted.
    /// - Parameters:
    ///   - names: The names of the possible fields, some of which may be missing.
    ///   - trailers: Returns the fields. If the closure throws an error, the call fails.
    /// - Returns: The body.
    public func followed(
        by names: [HTTPHeaders.Name], _ trailers: @escaping @Sendable () throws -> HTTPHeaders
    ) -> RequestBody {
        followed(by: names, reducingInto: {}, { _, _ in }, trailers: { _ in try trailers() })
    }

    /// Returns the same content with trailer fields computed from its bytes, such as a checksum.
    ///
    /// ```swift
    /// let body = RequestBody.file(url).followed(by: ["X-CRC32"], reducingInto: { CRC32() }) {
    ///     $0.update($1)
    /// } trailers: { ["X-CRC32": $0.text] }
    /// ```
    ///
    /// See ``followed(by:_:)``.
    /// - Parameters:
    ///   - names: The names of the possible fields, some of which may be missing.
    ///   - initial: Creates the initial state of each send.
    ///   - update: Adds a chunk of the content to the state.
    ///   - trailers: Returns the fields at the end of the content.
    /// - Returns: The body.
    public func followed<State>(
        by names: [HTTPHeaders.Name], reducingInto initial: @escaping @Sendable () -> State,
        _ update: @escaping @Sendable (inout State, Data) throws -> Void,
        trailers: @escaping @Sendable (State) throws -> HTTPHeaders
    ) -> RequestBody {
        if let fault = RequestTrailers.fault(of: names) { return .catching { throw fault } }
        return followed(
            by: RequestTrailers(names: names) {
                var state = initial()
                return RequestTrailers.Run(
                    names: names, update: { try update(&state, $0) },
                    make: { try trailers(state) })
            })
    }
}

struct RequestTrailers: Sendable {
    struct Run {
        let names: [HTTPHeaders.Name]
        let update: (Data) throws -> Void
        let make: () throws -> HTTPHeaders

        /// - Throws: ``ClientError/Code/invalidRequest`` if a field cannot be sent.
        func fields() throws -> HTTPHeaders {
            let fields = try make()
            if let fault = fields.sendingFault {
                throw ClientError(.invalidRequest, "the request's trailers: \(fault)")
            }
            if let other = fields.first(where: { !names.contains($0.name) }) {
                throw ClientError(
                    .invalidRequest,
                    "the trailer field \(other.name) was not announced; add its name to the list")
            }
            return fields
        }
    }

    let names: [HTTPHeaders.Name]
    let begin: @Sendable () -> Run

    static func fault(of names: [HTTPHeaders.Name]) -> ClientError? {
        if names.isEmpty {
            return ClientError(.invalidRequest, "the list of trailer names is empty; add each name")
        }
        for name in names {
            if !Grammar.isToken(name.rawValue) {
                return ClientError(
                    .invalidRequest,
                    "the name of a trailer field is not a token (RFC 9110 §5.6.2); use letters,"
                        + " digits and hyphens")
            }
            if HTTPHeaders.isForbiddenInTrailers(name) {
                return ClientError(
                    .invalidRequest,
                    "the field \(name) is not allowed in trailers (RFC 9110 §6.5.1); make it a"
                        + " header field")
            }
        }
        return nil
    }

    static var notBehindPart: ClientError {
        ClientError(
            .invalidRequest, "a part of a body cannot have trailers; add them to the whole body")
    }
}

extension HTTPHeaders {
    /// The trailer section without the fields that RFC 9110 §6.5.1 allows only before the content.
    var trailing: HTTPHeaders {
        if isEmpty { return self }
        var kept = self
        kept.removeAll { Self.isForbiddenInTrailers($0.name) }
        return kept
    }

    static func isForbiddenInTrailers(_ name: Name) -> Bool {
        switch name {
        // Fields for framing and the connection.
        case .contentLength, .transferEncoding, .trailer, .connection, .keepAlive, .te, .upgrade,
            "Proxy-Connection", "HTTP2-Settings":
            true
        // Fields for routing.
        case .host, "Max-Forwards": true
        // Request modifiers.
        case .cacheControl, .expect, .pragma, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince,
            .ifUnmodifiedSince, .ifRange:
            true
        // Fields for authentication and cookies.
        case .authorization, .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .cookie,
            .setCookie, "Authentication-Info", "Proxy-Authentication-Info":
            true
        // Response control data.
        case .age, .date, .expires, .location, .retryAfter, .vary, "Warning",
            "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data":
            true
        // Fields that describe the content.
        case .contentEncoding, .contentType, .contentRange, .contentLocation, .contentDisposition:
            true
        default: false
        }
    }
}
