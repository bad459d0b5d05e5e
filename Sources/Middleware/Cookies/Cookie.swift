// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// One cookie of a jar (RFC 6265bis §5.7).
public struct Cookie: Sendable, Hashable {
    /// The rule for sending a cookie with requests of other sites.
    public enum SameSite: String, Sendable, Hashable {
        /// The cookie is not sent if another site has redirected the request.
        case strict = "Strict"
        /// After a redirect by another site, the cookie is sent only with safe methods.
        case lax = "Lax"
        /// The cookie is always sent.
        case none = "None"
    }

    /// The name of the cookie, which may be empty.
    public let name: String
    /// The value.
    public let value: String
    /// The domain that the cookie names, or the host that set the cookie, in lower case.
    public let domain: String
    /// Whether the cookie is sent only to the host that set the cookie, and not to subdomains.
    public let isHostOnly: Bool
    /// The prefix of the paths to which the cookie is sent.
    public let path: String
    /// The date when the cookie expires.
    ///
    /// If the date is nil, the cookie lives as long as the jar.
    public let expires: Date?
    /// Whether the cookie is sent only over https.
    public let isSecure: Bool
    /// Whether the cookie is hidden from the scripts of a page.
    ///
    /// The jar only stores this value.
    public let isHTTPOnly: Bool
    /// The rule of the cookie for requests from other sites.
    ///
    /// Without a rule, the cookie is always sent, because the default `Lax` is for browsers.
    public let sameSite: SameSite?
    /// The date when the cookie was first set.
    public internal(set) var created: Date
    // Orders the cookies that were set at the same moment.
    var serial: UInt64 = 0

    /// Creates a cookie, and drops a leading dot of the domain.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/invalidRequest`` if the name or the value cannot
    ///   be sent in a `Cookie` line, or if both together are longer than 4096 bytes. The same error
    ///   is thrown if the domain or the path is not valid, or if the prefix of the name (`__Host-`,
    ///   `__Secure-`) forbids the attributes.
    init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false,
        sameSite: SameSite? = nil, created: Date
    ) throws {
        self.name = name
        self.value = value
        // A leading dot is ignored (RFC 6265bis §5.6.3).
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

    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    func goes(toHost host: String) -> Bool {
        isHostOnly ? host == domain : CookieRules.domain(domain, covers: host)
    }

    /// Matches the path by RFC 6265bis §5.1.4.
    func goes(toPath path: String) -> Bool { CookieRules.path(self.path, covers: path) }

    // The reason why a jar cannot store the cookie, or nil if a jar can store the cookie.
    private var fault: String? {
        if name.utf8.count + value.utf8.count > CookieRules.maxPairBytes { return "is too long" }
        if name.isEmpty && value.isEmpty { return "has neither name nor value" }
        if !CookieRules.isName(name) || !CookieRules.isValue(value) {
            return "has a character that cannot be sent"
        }
        if domain.isEmpty || domain.utf8.count > 253 { return "has no domain" }
        if path.utf8.first != UInt8(ascii: "/") || path.utf8.count > 1024 { return "has no path" }
        if !CookieRules.isTrueToPrefix(self) { return "breaks the rules of its name's prefix" }
        return nil
    }
}

extension Cookie: DescriptionReflectable {
    /// The name, the domain and the path of the cookie, without the value.
    public var description: String {
        "cookie \"\(name)\" of \(isHostOnly ? "" : "*.")\(domain)\(path)"
    }
}

enum CookieRules {
    static let maxPairBytes = 4096

    static func isName(_ name: String) -> Bool {
        isValue(name) && !name.utf8.contains(UInt8(ascii: "="))
    }

    // A value contains no control character except HTAB, and no semicolon, which ends a pair.
    static func isValue(_ value: String) -> Bool {
        Grammar.firstIllegalValueByte(value) == nil && !value.utf8.contains(UInt8(ascii: ";"))
    }

    // Checks the prefix of a cookie's name (RFC 6265bis §4.1.3). The check ignores case, because
    // servers may ignore the case of a prefix.
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

    // Matches a domain by RFC 6265bis §5.1.3. An IP address belongs to no domain.
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

    // The default path of a cookie (RFC 6265bis §5.1.4).
    static func defaultPath(of uri: TargetURI) -> String {
        let path = path(of: uri)
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else {
            return "/"
        }
        return String(path[..<slash])
    }

    static func path(of uri: TargetURI) -> String { uri.path.isEmpty ? "/" : uri.path }
}

/// A cookie as one line of JSON, for the file of a jar.
extension Cookie {
    var line: JSONValue {
        var object: JSONObject = [
            "name": .string(name), "value": .string(value), "domain": .string(domain),
            "path": .string(path), "created": .number(JSONNumber(Self.seconds(created))),
        ]
        if isHostOnly { object["hostOnly"] = true }
        if isSecure { object["secure"] = true }
        if isHTTPOnly { object["httpOnly"] = true }
        if let sameSite { object["sameSite"] = .string(sameSite.rawValue) }
        if let expires { object["expires"] = .number(JSONNumber(Self.seconds(expires))) }
        return .object(object)
    }

    init?(line: JSONObject) {
        guard let name = line["name"]?.string, let value = line["value"]?.string,
            let domain = line["domain"]?.string, let path = line["path"]?.string,
            let created = line["created"]?.int, let expires = line["expires"]?.int
        else { return nil }
        do {
            try self.init(
                name: name, value: value, domain: domain,
                isHostOnly: line["hostOnly"]?.bool ?? false, path: path,
                expires: Date(timeIntervalSince1970: Double(expires)),
                isSecure: line["secure"]?.bool ?? false,
                isHTTPOnly: line["httpOnly"]?.bool ?? false,
                sameSite: line["sameSite"]?.string.flatMap(SameSite.init(rawValue:)),
                created: Date(timeIntervalSince1970: Double(created)))
        } catch {
            return nil
        }
    }

    private static func seconds(_ date: Date) -> Int {
        Int(min(max(date.timeIntervalSince1970.rounded(.up), -1e12), 1e12))
    }
}
