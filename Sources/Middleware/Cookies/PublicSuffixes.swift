public import Foundation
import TurnpikeCore

/// Domains under which strangers register names, so that nobody may set a cookie for all of them:
/// `com`, `co.uk`.
///
/// ``standard`` has no list, and so cannot tell `github.io` from `example.com`: a cookie goes back to
/// the host that set it and to no other, whatever its `Domain` says. A `Domain` of a single label, or
/// of two that look like a registry's (`co.uk`), is refused as one of another host is. A file in the
/// format of the Public Suffix List (publicsuffix.org) lets cookies go to a whole domain.
public struct PublicSuffixes: Sendable {
    private let rules: Set<String>
    private let wildcards: Set<String>
    private let exceptions: Set<String>

    /// No list: cookies are their hosts' own.
    public static let standard = PublicSuffixes()

    private init() {
        rules = []
        wildcards = []
        exceptions = []
    }

    /// Reads a list.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where the file cannot be read, or
    ///   has no rule.
    public init(contentsOf url: URL) throws {
        let content: Data?
        do {
            content = try PrivateFile.read(url.path(percentEncoded: false), maxBytes: 16 << 20)
        } catch {
            throw ClientError(
                .configuration, "the list of public suffixes cannot be read", underlying: error)
        }
        self.init(parsing: String(decoding: content ?? Data(), as: UTF8.self))
        if isEmpty {
            throw ClientError(.configuration, "the list of public suffixes is missing or empty")
        }
    }

    /// Reads a list; what is no rule is passed over.
    public init(parsing text: String) {
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

    /// Whether there is no list.
    var isEmpty: Bool { rules.isEmpty && wildcards.isEmpty }

    /// Whether a domain, in lower case, is such a one; without a list, whether it looks like one.
    public func contains(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count < 2 || labels.contains(where: \.isEmpty) { return true }
        if isEmpty { return labels.count == 2 && Self.looksLikeSuffix(labels[0], labels[1]) }
        if exceptions.contains(domain) { return false }
        return rules.contains(domain)
            || wildcards.contains(labels.dropFirst().joined(separator: "."))
    }

    /// Whether two hosts are of one site: equal, one below the other, or, with a list, below one
    /// registered name.
    func isSameSite(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        if CookieRules.domain(left, covers: right) { return !contains(left) }
        if CookieRules.domain(right, covers: left) { return !contains(right) }
        guard !isEmpty, let site = site(of: left) else { return false }
        return site == self.site(of: right)
    }

    // The registered name: one label more than the longest suffix.
    private func site(of host: String) -> Substring? {
        if IPAddress(host) != nil { return nil }
        var site: Substring?
        var rest = host[...]
        while !contains(String(rest)) {
            site = rest
            guard let dot = rest.firstIndex(of: ".") else { return nil }
            rest = rest[rest.index(after: dot)...]
        }
        return site
    }

    // As hosts are known: beyond ASCII by what DNS has for them (`公司.cn` is `xn--55qx5d.cn`).
    private static func encoded(_ rule: Substring) -> String {
        if rule.utf8.allSatisfy({ $0 < 0x80 }) { return rule.lowercased() }
        return URL(string: "http://\(rule)/").flatMap { Origin($0)?.host } ?? rule.lowercased()
    }

    private static func looksLikeSuffix(_ label: Substring, _ country: Substring) -> Bool {
        country.utf8.count == 2 && registryLabels.contains(String(label))
    }

    private static let registryLabels: Set<String> = [
        "ac", "ad", "art", "asso", "biz", "co", "com", "ed", "edu", "firm", "gc", "gen", "go",
        "gob", "gouv", "gov", "govt", "gr", "id", "idv", "ind", "info", "int", "k12", "lg", "ltd",
        "me", "mil", "mod", "muni", "name", "ne", "net", "nhs", "nic", "nom", "nsw", "or", "org",
        "plc", "police", "press", "pro", "res", "sch", "school", "store", "tv", "vic", "web",
    ]
}
