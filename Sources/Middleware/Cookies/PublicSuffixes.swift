// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeSupport

/// Domains in which anyone can register names, such as `com` and `co.uk`.
///
/// No cookie may be set for a public suffix.
///
/// ``standard`` is an empty list, which cannot distinguish `github.io` from `example.com`. With the
/// empty list, the jar ignores the `Domain` of a cookie, and sends the cookie only to the host that
/// set the cookie. The jar refuses a `Domain` with one label, or with two labels that resemble a
/// registry (`co.uk`). With a file in the format of the Public Suffix List (publicsuffix.org), the
/// jar can send a cookie to a whole domain, up to the registered name.
public struct PublicSuffixes: Sendable {
    private let rules: Set<String>
    private let wildcards: Set<String>
    private let exceptions: Set<String>

    /// An empty list, with which a jar sends a cookie only to the host that set the cookie.
    public static let standard = PublicSuffixes()

    private init() {
        rules = []
        wildcards = []
        exceptions = []
    }

    /// Reads a list from a file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the file cannot be read or
    ///   contains no rule.
    public init(contentsOf url: URL) throws {
        let content: Data?
        do {
            content = try PrivateFile(url.path(percentEncoded: false)).read(maxBytes: 16 << 20)
        } catch {
            throw ClientError(
                .configuration, "the list of public suffixes cannot be read", underlying: error)
        }
        self.init(parsing: String(decoding: content ?? Data(), as: UTF8.self))
        if isEmpty {
            throw ClientError(.configuration, "the list of public suffixes is missing or empty")
        }
    }

    /// Parses a list, and skips lines that are not rules.
    init(parsing text: String) {
        var rules: Set<String> = []
        var wildcards: Set<String> = []
        var exceptions: Set<String> = []
        for line in text.split(whereSeparator: \.isNewline) {
            guard let rule = line.split(whereSeparator: \.isWhitespace).first,
                !rule.hasPrefix("//")
            else { continue }
            if rule.hasPrefix("*.") {
                wildcards.insert(Self.encoded(rule.dropFirst(2)))
            } else if rule.hasPrefix("!") {
                exceptions.insert(Self.encoded(rule.dropFirst()))
            } else {
                rules.insert(Self.encoded(rule))
            }
        }
        self.rules = rules
        self.wildcards = wildcards
        self.exceptions = exceptions
    }

    var isEmpty: Bool { rules.isEmpty && wildcards.isEmpty }

    // Whether a domain in lower case is a public suffix. If the list is empty, the number and form
    // of the labels decide.
    func contains(_ domain: String) -> Bool {
        let tails = Self.tails(of: domain)
        if tails.count < 2 { return true }
        if isEmpty { return tails.count == 2 && Self.looksLikeSuffix(domain) }
        return suffix(tails) == domain
    }

    /// Returns the registered name above a host, which is the public suffix and one more label (RFC
    /// 6265bis §2.3).
    /// - Parameter host: The host, in any spelling.
    /// - Returns: The registered name, in lower case and ASCII. The result is nil if the host is a
    ///   suffix or an address, or if the list is empty.
    func registrableDomain(of host: String) -> String? {
        registrable(Self.encoded(host[...]))
    }

    // Returns the hosts that get a cookie for a domain, or nil if the host may not set the cookie.
    // With a list, the host's registrable domain and all names below this domain may get cookies. A
    // domain above the registrable domain gets no cookies, even if that domain is not a suffix. For
    // example, `kobe.jp` is not a suffix, but anyone can register names below `foo.kobe.jp`.
    func reach(of domain: String, setBy host: String) -> CookieReach? {
        guard CookieRules.domain(domain, covers: host) else { return nil }
        if isEmpty { return domain != host && contains(domain) ? nil : .host }
        if let own = registrable(host) {
            return CookieRules.domain(own, covers: domain) ? .domain(domain) : nil
        }
        if domain != host { return nil }
        return contains(host) ? .host : .domain(domain)
    }

    // Returns the highest domain whose cookies a host may get. If the list is empty, the result is
    // empty, because no host gets cookies of another host.
    func top(of host: String) -> String { isEmpty ? "" : registrable(host) ?? host }

    // Whether two hosts belong to the same site. Two hosts belong to the same site if they are
    // equal or have the same registrable domain. If the list is empty, one host must be a subdomain
    // of the other.
    func isSameSite(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        if isEmpty {
            if CookieRules.domain(left, covers: right) { return !contains(left) }
            return CookieRules.domain(right, covers: left) && !contains(right)
        }
        guard let site = registrable(left) else { return false }
        return site == registrable(right)
    }

    private func registrable(_ host: String) -> String? {
        if isEmpty || IPAddress(host) != nil { return nil }
        let tails = Self.tails(of: host)
        let suffix = suffix(tails)
        return tails.lastIndex { $0.utf8.count > suffix.utf8.count }.map { String(tails[$0]) }
    }

    // Follows the algorithm of publicsuffix.org: an exception takes precedence over all rules, and
    // the longest rule over the last label.
    private func suffix(_ tails: [Substring]) -> Substring {
        if let place = tails.firstIndex(where: { exceptions.contains(String($0)) }) {
            return tails[min(place + 1, tails.count - 1)]
        }
        let longest = tails.indices.first { place in
            rules.contains(String(tails[place]))
                || place + 1 < tails.count && wildcards.contains(String(tails[place + 1]))
        }
        return longest.map { tails[$0] } ?? tails.last ?? ""
    }

    // Returns a name and its parent domains, the longest first. If a label is empty or the name is
    // too long, the result is empty. Each parent domain is a copy, and the limit on the length bounds
    // the number of copies.
    private static func tails(of name: String) -> [Substring] {
        if name.utf8.count > HostName.maxBytes { return [] }
        var tails = [name[...]]
        while let rest = tails.last, let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            if dot == rest.startIndex { return [] }
            tails.append(rest[rest.utf8.index(after: dot)...])
        }
        return tails.last?.isEmpty == true ? [] : tails
    }

    // Hosts are compared in lower case and in ASCII, as in DNS (`公司.cn` is `xn--55qx5d.cn`).
    private static func encoded(_ rule: Substring) -> String {
        if rule.utf8.allSatisfy({ $0 < 0x80 }) { return rule.lowercased() }
        return URL(string: "http://\(rule)/").flatMap { Origin($0)?.host } ?? rule.lowercased()
    }

    private static func looksLikeSuffix(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".")
        return labels.count == 2 && labels[1].utf8.count == 2
            && registryLabels.contains(String(labels[0]))
    }

    private static let registryLabels: Set<String> = [
        "ac", "ad", "art", "asso", "biz", "co", "com", "ed", "edu", "firm", "gc", "gen", "go",
        "gob", "gouv", "gov", "govt", "gr", "id", "idv", "ind", "info", "int", "k12", "lg", "ltd",
        "me", "mil", "mod", "muni", "name", "ne", "net", "nhs", "nic", "nom", "nsw", "or", "org",
        "plc", "police", "press", "pro", "res", "sch", "school", "store", "tv", "vic", "web",
    ]
}

enum CookieReach {
    case host
    case domain(String)
}
