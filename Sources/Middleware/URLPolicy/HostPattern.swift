// SPDX-License-Identifier: Apache-2.0

/// A pattern for hosts: one host, or all subdomains of a domain.
///
/// `api.example.com` matches only that host. `*.example.com` matches any host below that domain,
/// but not the domain itself. `192.0.2.1` matches every spelling of the same address. The case of
/// letters and a final dot have no meaning.
public struct HostPattern: Hashable, Sendable {
    private enum Kind: Hashable {
        case host(HostName)
        case below(String)
    }

    let text: String
    private let kind: Kind

    /// Creates a pattern from its text.
    public init(_ text: String) {
        self.text = text
        if text.hasPrefix("*."), case .name(let domain) = HostName(String(text.dropFirst(2))) {
            kind = .below("." + domain)
        } else {
            kind = .host(HostName(text))
        }
    }

    func matches(_ host: String) -> Bool { matches(HostName(host)) }

    func matches(_ host: HostName) -> Bool {
        switch (kind, host) {
        case (.host(.unclear), _), (_, .unclear): false
        case (.host(let own), _): own == host
        case (.below(let suffix), .name(let name)): name.hasSuffix(suffix)
        case (.below, _): false
        }
    }

    /// Whether the pattern is a host or a domain.
    ///
    /// A star is allowed only at the beginning of the pattern.
    public var isUsable: Bool {
        switch kind {
        case .host(.address): true
        case .host(.unclear): false
        case .host(.name(let name)), .below(let name): !name.utf8.contains(UInt8(ascii: "*"))
        }
    }
}

extension HostPattern: ExpressibleByStringLiteral {
    /// Creates a pattern from a literal.
    public init(stringLiteral value: String) { self.init(value) }
}
