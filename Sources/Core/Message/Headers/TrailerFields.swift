// SPDX-License-Identifier: Apache-2.0

extension HTTPHeaders {
    /// The section as trailers, without the fields that are meaningful only before the content (RFC
    /// 9110 §6.5.1).
    ///
    /// Fields that would frame, route, authenticate, control or describe a message after it was
    /// read are errors or attacks.
    var trailing: HTTPHeaders {
        if isEmpty { return self }
        var kept = self
        kept.removeAll { Self.isForbiddenInTrailers($0.name) }
        return kept
    }

    static func isForbiddenInTrailers(_ name: Name) -> Bool {
        switch name {
        // Framing and the connection.
        case .contentLength, .transferEncoding, .trailer, .connection, .keepAlive, .te, .upgrade,
            "Proxy-Connection", "HTTP2-Settings":
            true
        // Routing.
        case .host, "Max-Forwards": true
        // Request modifiers.
        case .cacheControl, .expect, .pragma, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince,
            .ifUnmodifiedSince, .ifRange:
            true
        // Authentication and cookies.
        case .authorization, .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .cookie,
            .setCookie, "Authentication-Info", "Proxy-Authentication-Info":
            true
        // Response control data.
        case .age, .date, .expires, .location, .retryAfter, .vary, "Warning",
            "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data":
            true
        // Description of the content.
        case .contentEncoding, .contentType, .contentRange, .contentLocation, .contentDisposition:
            true
        default: false
        }
    }
}
