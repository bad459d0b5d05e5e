import Foundation
import TurnpikeCore

/// Whether, and as what, a response is stored (RFC 9111 §3).
enum Storability {
    /// Whether a response with this status and without a lifetime may be reused (RFC 9110 §15.1).
    static func isHeuristic(_ status: HTTPStatus) -> Bool {
        switch status.code {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether the cache knows what the status means for caching, as `must-understand` asks
    /// (§5.2.2.3).
    private static func isUnderstood(_ status: HTTPStatus) -> Bool {
        !status.reasonPhrase.isEmpty && status != .partialContent && status != .notModified
    }

    static func allows(_ head: ResponseHead, _ control: CacheControl, _ map: FieldMap) -> Bool {
        let status = head.status
        guard status.code >= 200, status.code < 600, status != .partialContent,
            status != .notModified
        else { return false }
        // They answer a condition of that one request: its range, or its precondition.
        if status == 416 || status == 412 { return false }
        // An accident of the server: what it says of freshness was meant for the answer that failed.
        if status == .internalServerError { return false }
        if control.mustUnderstand {
            if !isUnderstood(status) { return false }
        } else if control.noStore {
            return false
        }
        return control.isExplicit || map.contains(.expires) || isHeuristic(status)
    }

    /// The fields of a response that are kept (§3.1), and where they stand.
    static func fields(
        _ headers: HTTPHeaders, _ control: CacheControl, _ map: FieldMap
    ) -> (HTTPHeaders, FieldMap) {
        var named: [HTTPHeaders.Name] = Array(control.noCacheFields)
        map.forEachLine(of: .connection, in: headers) { line in
            // What nearly all have, and what names no other field.
            if Grammar.equalsIgnoringCase(line, "keep-alive") { return }
            for member in Grammar.split(line[...], at: UInt8(ascii: ",")).prefix(64) {
                named.append(HTTPHeaders.Name(String(Grammar.trimmed(member))))
            }
        }
        if named.isEmpty, !map.contains(.connection), !map.contains(.aboutConnection),
            !map.contains(.setCookie)
        {
            return (headers, map)
        }
        var kept = map
        var result = headers
        if named.isEmpty, !map.contains(.setCookie),
            take(.connection, from: &result, &kept), take(.aboutConnection, from: &result, &kept)
        {
            return (result, kept)
        }
        kept = FieldMap()
        result.fields = []
        result.reserveCapacity(headers.count)
        for field in headers.fields {
            let known = FieldMap.known(field.name)
            switch known {
            case .connection, .aboutConnection: continue
            case .setCookie where !isOwnCookie(field.value): continue
            default: if !named.isEmpty, named.contains(field.name) { continue }
            }
            if let known { kept.note(known, at: result.count) }
            result.fields.append(field)
        }
        return (result, kept)
    }

    // Takes a field out that has no more than one line; gives false where it has.
    private static func take(
        _ known: FieldMap.Known, from headers: inout HTTPHeaders, _ map: inout FieldMap
    ) -> Bool {
        guard let place = map.place(ofOnly: known) else { return !map.contains(known) }
        headers.fields.remove(at: place)
        map.remove(known)
        return true
    }

    // A cookie that names a path or a domain reaches beyond the response that set it: it was for the
    // jar, once. One without is part of the response, and §3.1 keeps it.
    private static func isOwnCookie(_ line: String) -> Bool {
        !line.split(separator: ";").dropFirst().contains { attribute in
            let name = Grammar.trimmed(attribute.prefix { $0 != "=" }).lowercased()
            return name == "path" || name == "domain"
        }
    }
}

extension HTTPHeaders {
    /// The section with the fields for which a condition holds.
    func filtered(_ isKept: (Field) -> Bool) -> HTTPHeaders {
        var result = self
        result.removeAll { !isKept($0) }
        return result
    }
}
