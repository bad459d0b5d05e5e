// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore

/// The origins that a credential may be sent to; it is sent to no other.
///
/// ```swift
/// .bearer(tokens, origins: ["https://api.example.com", "https://files.example.com"])
/// ```
///
/// Once a redirect has led a call to an origin that is not among them, the call no longer carries
/// the credential, even back at a listed origin: no other server may decide how the credential is
/// used.
public struct CredentialOrigins: Sendable, Hashable {
    /// The one origin of ``CredentialOrigins/own``, once it is known.
    public final class Own: Sendable, Hashable {
        let origin = Mutex<Origin?>(nil)

        /// An origin that is not known.
        public init() {}

        /// Whether they are the same object.
        public static func == (left: Own, right: Own) -> Bool { left === right }

        /// Hashes the identity of the object.
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    let listed: Set<Origin>?
    let fault: String?
    /// The origin that several gates share; nil if each gate has its own.
    let shared: Own?

    private init(listed: Set<Origin>?, fault: String? = nil, shared: Own? = nil) {
        self.listed = listed
        self.fault = fault
        self.shared = shared
    }

    /// The origin of the client's base URL; without a base URL, the origin of the first request
    /// that passes the gate, permanently.
    public static let own = CredentialOrigins(listed: nil)

    /// Returns ``own`` with an origin that several gates share, such as the gates of a stack and of
    /// the stack that replaces it.
    public static func own(_ shared: Own) -> CredentialOrigins {
        CredentialOrigins(listed: nil, shared: shared)
    }

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

    /// Whether a text is an origin, and nothing else: `https://api.example.com`.
    public static func isOrigin(_ text: String) -> Bool { origin(text) != nil }

    private static func origin(_ text: String) -> Origin? {
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
