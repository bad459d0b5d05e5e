// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides which fields of a request identify the caller, for all gates that let several requests
/// share one response.
///
/// A field with an unknown name may identify the caller as well, because each API chooses its own
/// name for the key. So every name that looks like the name of a secret counts, and users of gates
/// can add names.
public enum CallerIdentity {
    /// How a field identifies the caller.
    public enum Part {
        /// A credential: a password, a token, a key.
        case credential
        /// A cookie: it may identify the caller, or hold a value that is the same for everybody.
        case cookie
    }

    /// Returns how a field with this name identifies the caller; nil if it does not.
    public static func part(_ name: HTTPHeaders.Name) -> Part? {
        switch name {
        // These names cover nearly all fields that are sent.
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
        // Anti-forgery tokens change with each page, and prove nothing without their cookie.
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

    // Words that mark a credential in names such as `X-Auth`, `X-Jwt-Assertion` and `X-Session`.
    private static let proofs = ["auth", "jwt", "assertion", "session", "sid"]
}
