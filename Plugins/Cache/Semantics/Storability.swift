// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Decides whether a response is stored, and which fields are stored (RFC 9111 §3).
enum Storability {
    /// Whether a response with this status may be reused without a lifetime (RFC 9110 §15.1).
    static func isHeuristic(_ status: HTTPStatus) -> Bool {
        switch status.code {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    // Whether the cache implements the caching rules of the status. `must-understand` requires the
    // rules (RFC 9111 §5.2.2.3).
    private static func isUnderstood(_ status: HTTPStatus) -> Bool {
        !status.reasonPhrase.isEmpty && status != .partialContent && status != .notModified
    }

    static func allows(_ head: ResponseHead, _ control: CacheControl) -> Bool {
        let status = head.status
        guard status.code >= 200, status.code < 600, status != .partialContent,
            status != .notModified
        else { return false }
        // These statuses answer the range or the precondition of one request.
        if status == 416 || status == 412 { return false }
        // A 500 may have freshness fields that were meant for the successful response.
        if status == .internalServerError { return false }
        if control.mustUnderstand {
            if !isUnderstood(status) { return false }
        } else if control.noStore {
            return false
        }
        return control.isExplicit || head.headers.contains(.expires) || isHeuristic(status)
    }

    /// The stored header fields (RFC 9111 §3.1).
    static func fields(_ headers: HTTPHeaders, _ control: CacheControl) -> HTTPHeaders {
        var named = control.noCacheFields
        for field in headers where field.name == .connection {
            for member in Grammar.split(field.value[...], at: UInt8(ascii: ",")).prefix(64) {
                let name = HTTPHeaders.Name(String(Grammar.trimmed(member)))
                if name != .keepAlive { named.insert(name) }
            }
        }
        var kept = headers
        kept.removeAll { field in
            if field.name == .setCookie, !isOwnCookie(field.value) { return true }
            return connectionFields.contains(field.name)
                || !named.isEmpty && named.contains(field.name)
        }
        return kept
    }

    // Fields about one connection (RFC 9110 §7.6.1), or about a proxy.
    private static let connectionFields: [HTTPHeaders.Name] = [
        .connection, .keepAlive, .te, .transferEncoding, .upgrade, .proxyAuthenticate,
        .proxyAuthorization, "Proxy-Authentication-Info", "Proxy-Connection",
    ]

    // A cookie with a path or a domain applies to other URLs too, and is only for the cookie jar.
    // Any other cookie is part of the response, and must be stored (RFC 9111 §3.1).
    private static func isOwnCookie(_ line: String) -> Bool {
        !line.split(separator: ";").dropFirst().contains { attribute in
            let name = Grammar.trimmed(attribute.prefix { $0 != "=" }).lowercased()
            return name == "path" || name == "domain"
        }
    }
}
