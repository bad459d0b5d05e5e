import Foundation
public import TurnpikeCore

/// The origins that a credential is for: it is sent to them and to no other.
///
/// ```swift
/// .bearer(tokens, origins: ["https://api.example.com", "https://files.example.com"])
/// ```
///
/// A call that was redirected from an origin which is not among them carries the credential no
/// further, wherever it is led: no other server gets to choose what is done in its name.
public struct CredentialOrigins: Sendable, Hashable {
    let listed: Set<Origin>?
    let fault: String?

    private init(listed: Set<Origin>?, fault: String? = nil) {
        self.listed = listed
        self.fault = fault
    }

    /// The origin of the client's base URL; without a base URL, that of the first request which
    /// passes the gate, for good.
    public static let own = CredentialOrigins(listed: nil)

    /// Creates a list of origins.
    public init(_ origins: some Sequence<Origin>) { self.init(listed: Set(origins)) }

    /// Creates a list from texts such as `https://api.example.com` or `http://localhost:8080`.
    ///
    /// A text that is no origin lets the calls that pass the gate fail as
    /// ``/TurnpikeCore/ClientError/Code/configuration``.
    public init(parsing texts: [String]) {
        var origins: Set<Origin> = []
        var fault: String?
        for (index, text) in texts.enumerated() {
            if let origin = Self.origin(text) {
                origins.insert(origin)
            } else {
                fault = fault ?? Self.fault(at: index)
            }
        }
        self.init(listed: origins, fault: fault)
    }

    /// The origin that a text names, or nil where it names none, or more than one.
    static func origin(_ text: String) -> Origin? {
        guard let url = URL(string: text), let origin = Origin(url), url.user == nil,
            url.query == nil, url.fragment == nil,
            ["", "/"].contains(url.path(percentEncoded: true))
        else { return nil }
        return origin
    }

    private static func fault(at index: Int) -> String {
        "origin \(index + 1) of a credential is none; write scheme, host and port alone, as in"
            + " https://api.example.com"
    }
}

extension CredentialOrigins: ExpressibleByArrayLiteral {
    /// Creates a list from texts; see ``init(parsing:)``.
    public init(arrayLiteral elements: String...) { self.init(parsing: elements) }
}

extension Settings {
    /// The scope of a credential; one that took the first request's origin keeps it over a reload.
    func credentialScope() -> CredentialScope {
        let origins = credentialOrigins()
        return kept("scope", for: origins) { CredentialScope(origins) }
    }

    /// The origins of a credential: the list under `origins`, or ``CredentialOrigins/own``.
    func credentialOrigins() -> CredentialOrigins {
        guard let texts = optionalStrings("origins") else { return .own }
        for (index, text) in texts.enumerated() where CredentialOrigins.origin(text) == nil {
            issue(at: "origins[\(index)]", "scheme, host and port are wanted, and nothing else")
        }
        if texts.isEmpty {
            issue(at: "origins", "names no origin; leave it out for the client's own")
        }
        return CredentialOrigins(parsing: texts)
    }
}
