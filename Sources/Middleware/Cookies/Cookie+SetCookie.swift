public import Foundation
import TurnpikeCore

extension Cookie {
    /// Reads a `Set-Cookie` line (RFC 6265bis §5.6 and §5.7).
    ///
    /// nil means that the cookie is to be ignored. One that is to be removed has expired.
    /// - Parameters:
    ///   - line: The value of the line.
    ///   - url: The URL that answered.
    ///   - date: The present.
    ///   - suffixes: The domains below which strangers register names: a `Domain` must be at or below
    ///     the host's own name there (``PublicSuffixes/registrableDomain(of:)``). Without a list the
    ///     cookie is the host's alone.
    public init?(
        setCookie line: String, from url: URL, at date: Date,
        suffixes: PublicSuffixes = .standard
    ) {
        guard let host = Origin(url)?.host, Grammar.firstIllegalValueByte(line) == nil else {
            return nil
        }
        let parts = line.utf8.split(
            separator: UInt8(ascii: ";"), maxSplits: 64, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        let (name, value) = Self.pair(first, isAttribute: false)
        let attributes = SetCookieAttributes(parts.dropFirst(), at: date)
        let reach =
            attributes.domain.isEmpty
            ? .host : suffixes.reach(of: attributes.domain, setBy: host)
        guard let reach else { return nil }
        let (domain, isHostOnly) =
            if case .domain(let domain) = reach { (domain, false) } else { (host, true) }
        let isTrusted = url.scheme?.lowercased() == "https"
        if attributes.isSecure && !isTrusted { return nil }
        let hasOwnPath = attributes.path.utf8.first == UInt8(ascii: "/")
        // The prefix demands that the path was written, not only that it is the root, and that no
        // domain was.
        let isHosts = Grammar.equalsIgnoringCase(String(name.prefix(7)), "__host-")
        if isHosts, !hasOwnPath || !attributes.domain.isEmpty { return nil }
        do {
            try self.init(
                name: name, value: value, domain: domain, isHostOnly: isHostOnly,
                path: hasOwnPath ? attributes.path : CookieRules.defaultPath(of: url),
                expires: attributes.expires, isSecure: attributes.isSecure,
                isHTTPOnly: attributes.isHTTPOnly, sameSite: attributes.sameSite, created: date)
        } catch {
            return nil
        }
    }

    /// Name and value around the first equals sign, without blanks around them.
    static func pair(
        _ bytes: Substring.UTF8View, isAttribute: Bool
    ) -> (name: String, value: String) {
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
            let text = String(Grammar.trimmed(Substring(bytes)))
            return isAttribute ? (text, "") : ("", text)
        }
        return (
            String(Grammar.trimmed(Substring(bytes[..<equals]))),
            String(Grammar.trimmed(Substring(bytes[bytes.index(after: equals)...])))
        )
    }
}

/// The attributes of a `Set-Cookie` line; of several with one name the last counts.
private struct SetCookieAttributes {
    var domain = ""
    var path = ""
    var expires: Date? { maxAge ?? expiresDate }
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: Cookie.SameSite?
    private var maxAge: Date?
    private var expiresDate: Date?

    // A cookie lives no longer than 400 days (RFC 6265bis §5.5).
    private static let longest: Int64 = 400 * 86_400

    init(_ parts: some Sequence<Substring.UTF8View>, at date: Date) {
        for part in parts {
            let (name, value) = Cookie.pair(part, isAttribute: true)
            guard value.utf8.count <= 1024 else { continue }
            switch name.lowercased() {
            case "expires":
                guard let parsed = CookieDate.parse(value) else { continue }
                expiresDate = min(parsed, date.addingTimeInterval(Double(Self.longest)))
            case "max-age": maxAge = Self.end(afterSeconds: value, from: date) ?? maxAge
            case "domain":
                let isDotted = value.utf8.first == UInt8(ascii: ".") && value.utf8.count > 1
                domain = (isDotted ? String(Substring(value.utf8.dropFirst())) : value).lowercased()
            case "path": path = value
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": sameSite = Self.sameSite(value)
            default: break
            }
        }
    }

    private static func end(afterSeconds text: String, from date: Date) -> Date? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        if isNegative { return .distantPast }
        // More digits than fit are longer than allowed, too.
        let seconds = min(Int64(Substring(digits)) ?? longest, longest)
        return seconds == 0 ? .distantPast : date.addingTimeInterval(Double(seconds))
    }

    private static func sameSite(_ value: String) -> Cookie.SameSite? {
        [Cookie.SameSite.strict, .lax, .none].first {
            Grammar.equalsIgnoringCase($0.rawValue, value)
        }
    }
}
