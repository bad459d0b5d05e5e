// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

/// The origins that a credential may be sent to; it is sent to no other.
///
/// ```swift
/// .bearer(tokens, origins: ["https://api.example.com", "https://files.example.com"])
/// ```
///
/// Once a redirect has led a call to an origin that is not among them, the call no longer carries
/// the credential, even back at a listed origin: no other server may choose what is done with it.
public struct CredentialOrigins: Sendable, Hashable {
    let listed: Set<Origin>?
    let fault: String?

    private init(listed: Set<Origin>?, fault: String? = nil) {
        self.listed = listed
        self.fault = fault
    }

    /// The origin of the client's base URL; without a base URL, the origin of the first request
    /// that passes the gate, permanently.
    public static let own = CredentialOrigins(listed: nil)

    /// Creates a list of origins.
    public init(_ origins: some Sequence<Origin>) { self.init(listed: Set(origins)) }

    /// Creates a list from texts such as `https://api.example.com` or `http://localhost:8080`.
    ///
    /// If a text is not an origin, calls that pass the gate fail as
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

    /// The origin that a text names, or nil if the text is anything but one origin.
    static func origin(_ text: String) -> Origin? {
        guard let uri = URL(string: text).map({ TargetURI($0) }), uri.originForm == "/",
            uri.absoluteForm == uri.text
        else { return nil }
        return uri.origin
    }

    private static func fault(at index: Int) -> String {
        "origin \(index + 1) of a credential is not an origin; write only scheme, host and port, as"
            + " in https://api.example.com"
    }
}

extension CredentialOrigins: ExpressibleByArrayLiteral {
    /// Creates a list from texts; see ``init(parsing:)``.
    public init(arrayLiteral elements: String...) { self.init(parsing: elements) }
}

extension Settings {
    /// The scope of a credential.
    ///
    /// A reload keeps the origin that the first request has set.
    func credentialScope() -> CredentialScope {
        let origins = credentialOrigins()
        return kept("scope", for: origins) { CredentialScope(origins) }
    }

    /// The origins of a credential: the list under `origins`, or ``CredentialOrigins/own``.
    func credentialOrigins() -> CredentialOrigins {
        guard let texts = optionalStrings("origins") else { return .own }
        for (index, text) in texts.enumerated() where CredentialOrigins.origin(text) == nil {
            issue(at: "origins[\(index)]", "expected a scheme, host and port, and nothing else")
        }
        if texts.isEmpty {
            issue(at: "origins", "is empty; leave it out to use the client's own origin")
        }
        return CredentialOrigins(parsing: texts)
    }
}
