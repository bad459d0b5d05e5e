// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Finds the fields of a request that identify the caller, for gates that share responses.
///
/// Each API chooses the field name of its key. Every name that looks like the name of a secret
/// therefore identifies the caller, and users of gates can add names.
enum CallerIdentity {
    /// The kinds of fields that identify the caller.
    enum Part {
        /// A credential, such as a password, a token or a key.
        case credential
        /// A cookie, which may identify the caller or hold the same value for all callers.
        case cookie
    }

    /// Returns the kind of the field, or nil if the field does not identify the caller.
    static func part(_ name: HTTPHeaders.Name) -> Part? {
        switch name {
        // These common fields do not identify the caller.
        case .accept, .acceptEncoding, .acceptLanguage, .userAgent, .cacheControl, .contentType,
            .host, .ifNoneMatch, .ifModifiedSince, .range, .referer, .origin, .traceparent,
            .tracestate, .idempotencyKey, "X-Request-ID":
            return nil
        case .cookie: return .cookie
        case .authorization, .proxyAuthorization: return .credential
        default: return isKeyLike(name) ? .credential : nil
        }
    }

    private static func isKeyLike(_ name: HTTPHeaders.Name) -> Bool {
        let text = name.lowercased
        // Anti-forgery tokens change with each page, and have no use without the session's cookie.
        if antiForgery.contains(where: { text.utf8.firstRange(of: $0.utf8) != nil }) {
            return false
        }
        if Redaction.standard.hides(header: name) { return true }
        return text.split(whereSeparator: { $0 == "-" || $0 == "_" }).contains { word in
            proofs.contains { $0 == word }
        }
    }

    private static let antiForgery = [
        "csrf", "xsrf", "antiforgery", "anti-forgery", "requestverification",
        "request-verification", "authenticity-token",
    ]

    // Words in the names of credentials, such as `X-Auth`, `X-Jwt-Assertion` and `X-Session`.
    private static let proofs = ["auth", "jwt", "assertion", "session", "sid"]
}
