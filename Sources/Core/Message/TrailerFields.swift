extension HTTPHeaders {
    /// The section as that of trailers: without the fields that mean something in front of the
    /// content alone (RFC 9110 §6.5.1).
    ///
    /// What would frame, route, authenticate, control or describe a message after it was read is
    /// either an error or an attack.
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
        // Requests' modifiers.
        case .cacheControl, .expect, .pragma, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince,
            .ifUnmodifiedSince, .ifRange:
            true
        // Authentication and cookies.
        case .authorization, .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .cookie,
            .setCookie, "Authentication-Info", "Proxy-Authentication-Info":
            true
        // Responses' control.
        case .age, .date, .expires, .location, .retryAfter, .vary, "Warning",
            "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data":
            true
        // The content's form.
        case .contentEncoding, .contentType, .contentRange, .contentLocation, .contentDisposition:
            true
        default: false
        }
    }
}
