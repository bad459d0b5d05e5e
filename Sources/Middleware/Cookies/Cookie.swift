public import Foundation
import TurnpikeCore

/// One cookie as a jar keeps it (RFC 6265bis §5.7).
public struct Cookie: Sendable, Hashable {
    /// What a cookie says about requests that begin at another site.
    public enum SameSite: String, Sendable, Hashable {
        /// Not sent where a redirect of another site leads.
        case strict = "Strict"
        /// Sent there with safe methods.
        case lax = "Lax"
        /// Sent in any case.
        case none = "None"
    }

    /// The name; empty for a cookie that has none.
    public let name: String
    /// The value.
    public let value: String
    /// The host that set the cookie, or the domain that it named; in lower case.
    public let domain: String
    /// Whether the cookie goes to that host alone, and not to those below it.
    public let isHostOnly: Bool
    /// Where the paths begin that get the cookie.
    public let path: String
    /// When the cookie ends; nil where it lives as long as the jar does.
    public let expires: Date?
    /// Whether the cookie goes over https alone.
    public let isSecure: Bool
    /// Whether scripts of a page may not see the cookie; here it has no meaning but is kept.
    public let isHTTPOnly: Bool
    /// What the cookie says about other sites; nil, as `Lax`-by-default is a matter of browsers, is
    /// sent in any case.
    public let sameSite: SameSite?
    /// When the cookie was first set.
    public internal(set) var created: Date
    // The order among cookies that were set at one moment.
    var serial: UInt64 = 0

    /// Creates a cookie; a dot at the beginning of its domain does not count.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/invalidRequest`` where name or value cannot stand
    ///   in a `Cookie` line, are longer than 4096 bytes, or break the rules of a name's prefix.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false,
        sameSite: SameSite? = nil, created: Date
    ) throws {
        self.name = name
        self.value = value
        // RFC 6265bis §5.6.3
        let isDotted = domain.utf8.first == UInt8(ascii: ".")
        self.domain = (isDotted ? String(Substring(domain.utf8.dropFirst())) : domain).lowercased()
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.created = created
        if let fault { throw ClientError(.invalidRequest, "a cookie \(fault)") }
    }

    /// The pair as a `Cookie` line has it.
    public var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether the cookie has ended.
    public func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    /// Whether the cookie goes to a host: its own, or one below its domain.
    func goes(toHost host: String) -> Bool {
        isHostOnly ? host == domain : CookieRules.domain(domain, covers: host)
    }

    /// Whether the cookie goes to a path (RFC 6265bis §5.1.4).
    func goes(toPath path: String) -> Bool { CookieRules.path(self.path, covers: path) }

    // What keeps the cookie out of a jar, also one that a file held.
    private var fault: String? {
        if name.utf8.count + value.utf8.count > CookieRules.maxPairBytes { return "is too long" }
        if name.isEmpty && value.isEmpty { return "has neither name nor value" }
        if !CookieRules.isName(name) || !CookieRules.isValue(value) {
            return "has a character that cannot be sent"
        }
        if domain.isEmpty || domain.utf8.count > 253 { return "has no domain" }
        if path.utf8.first != UInt8(ascii: "/") || path.utf8.count > 1024 { return "has no path" }
        if !CookieRules.isTrueToPrefix(self) { return "is not what the prefix of its name says" }
        return nil
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path; never the value.
    public var description: String {
        "cookie \"\(name)\" of \(isHostOnly ? "" : "*.")\(domain)\(path)"
    }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The rules that a cookie must keep wherever it came from.
enum CookieRules {
    static let maxPairBytes = 4096

    static func isName(_ name: String) -> Bool {
        isValue(name) && !name.utf8.contains(UInt8(ascii: "="))
    }

    // No control character but HTAB, and no semicolon, which ends a pair.
    static func isValue(_ value: String) -> Bool {
        Grammar.firstIllegalValueByte(value) == nil && !value.utf8.contains(UInt8(ascii: ";"))
    }

    // RFC 6265bis §4.1.3; case does not count, since servers may fold it.
    static func isTrueToPrefix(_ cookie: Cookie) -> Bool {
        if cookie.name.isEmpty {
            return !hasPrefix("__secure-", cookie.value) && !hasPrefix("__host-", cookie.value)
        }
        if hasPrefix("__secure-", cookie.name) { return cookie.isSecure }
        if hasPrefix("__host-", cookie.name) {
            return cookie.isSecure && cookie.isHostOnly && cookie.path == "/"
        }
        return true
    }

    private static func hasPrefix(_ prefix: String, _ text: String) -> Bool {
        Grammar.equalsIgnoringCase(
            prefix, String(decoding: text.utf8.prefix(prefix.utf8.count), as: UTF8.self))
    }

    // RFC 6265bis §5.1.3; an address has no domains above it.
    static func domain(_ domain: String, covers host: String) -> Bool {
        if host == domain { return true }
        guard host.utf8.count > domain.utf8.count, host.hasSuffix(domain) else { return false }
        let before = host.utf8[
            host.utf8.index(host.utf8.endIndex, offsetBy: -domain.utf8.count - 1)]
        return before == UInt8(ascii: ".") && IPAddress(host) == nil
    }

    static func path(_ path: String, covers other: String) -> Bool {
        guard other.utf8.starts(with: path.utf8) else { return false }
        if path.utf8.last == UInt8(ascii: "/") || path.utf8.count == other.utf8.count {
            return true
        }
        return other.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")
    }

    // RFC 6265bis §5.1.4.
    static func defaultPath(of url: URL) -> String {
        let path = requestPath(of: url)
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else {
            return "/"
        }
        return String(path[..<slash])
    }

    static func requestPath(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.utf8.first == UInt8(ascii: "/") ? path : "/"
    }
}
