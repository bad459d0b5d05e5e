// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Decides which fields of a request identify the caller, for gates that let several requests share
/// one response.
///
/// Each API chooses its own field name for its key. So every name that looks like the name of a
/// secret counts, and users of gates can add names.
enum CallerIdentity {
    /// How a field identifies the caller.
    enum Part {
        /// A credential, such as a password, a token or a key.
        case credential
        /// A cookie, which may identify the caller or hold the same value for all callers.
        case cookie
    }

    /// Returns how a field with this name identifies the caller, or nil if the field does not
    /// identify the caller.
    static func part(_ name: HTTPHeaders.Name) -> Part? {
        switch name {
        // These common names need no search for words.
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
        // Anti-forgery tokens change with each page, and give no access without the cookie of the
        // session.
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

    // Words that mark credentials, as in `X-Auth`, `X-Jwt-Assertion` and `X-Session`.
    private static let proofs = ["auth", "jwt", "assertion", "session", "sid"]
}
