package import TurnpikeCore

/// Which fields of a request tell who asks: decided here alone, for all gates that let several
/// requests have one answer.
///
/// A name that is not known to tell it may tell it all the same: what an API calls its key is the
/// API's affair. So every name counts that looks like that of a secret, and gates let their users
/// name more.
package enum CallerIdentity {
    /// What a field says of the caller.
    package enum Part {
        /// A proof: a password, a token, a key.
        case credential
        /// Where the server knows the caller again, or has put something for everybody.
        case cookie
    }

    /// What a field of a name says; nil for one that says nothing.
    package static func part(_ name: HTTPHeaders.Name) -> Part? {
        switch name {
        // Nearly all fields that are sent.
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
        // They change with each page, and prove nothing without the cookie that stands beside them.
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

    // Words that name a proof in names that say no more: `X-Auth`, `X-Jwt-Assertion`, `X-Session`.
    private static let proofs = ["auth", "jwt", "assertion", "session", "sid"]
}
