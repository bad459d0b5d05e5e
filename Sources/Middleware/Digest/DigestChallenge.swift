package import Foundation
package import TurnpikeCore

/// A Digest challenge that can be answered (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Hashable {
    /// What an answer protects.
    package enum Protection: String, Sendable {
        /// The request line.
        case request = "auth"
        /// The request line and the content.
        case content = "auth-int"
    }

    package let hash: DigestHash
    package let isSession: Bool
    package let realm: String
    package var nonce: String
    package let opaque: String?
    package let protection: Protection?
    package let hashesUser: Bool
    package let isStale: Bool
    /// Whether the challenge names its algorithm; one that does not means MD5.
    package let namesAlgorithm: Bool
    /// The paths that the credential is for; nil means the whole origin.
    package let paths: [String]?

    /// Creates a challenge; nil where it is of another scheme, lacks what it needs, or asks for what
    /// is not known here.
    package init?(_ challenge: AuthenticationChallenge, for url: URL) {
        guard challenge.scheme == "digest", let realm = challenge.realm,
            let nonce = challenge["nonce"], !nonce.isEmpty,
            let (hash, isSession) = Self.algorithm(challenge["algorithm"] ?? "MD5")
        else { return nil }
        if let offered = challenge["qop"] {
            guard let protection = Self.protection(offered) else { return nil }
            self.protection = protection
        } else {
            protection = nil
        }
        self.hash = hash
        self.isSession = isSession
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        hashesUser = challenge["userhash"]?.lowercased() == "true"
        isStale = challenge["stale"]?.lowercased() == "true"
        namesAlgorithm = challenge["algorithm"] != nil
        paths = challenge["domain"].map { Self.paths($0, url) }
    }

    /// The strongest of the Digest challenges in a response, the first of equal ones; never another
    /// scheme.
    package static func strongest(in head: ResponseHead) -> DigestChallenge? {
        let offered = AuthenticationChallenge.challenges(in: head.headers)
            .compactMap { DigestChallenge($0, for: head.url) }
        let best = offered.map(\.hash).max()
        return offered.first { $0.hash == best }
    }

    /// The algorithm's name as it stands in the answer.
    package var algorithmName: String { hash.name + (isSession ? "-sess" : "") }

    /// Whether the credential is for a path.
    func covers(_ path: String) -> Bool { paths?.contains { path.hasPrefix($0) } ?? true }

    /// Whether an answer to one goes on counting for the other.
    func isSame(as other: DigestChallenge) -> Bool {
        Grammar.areSame(nonce, other.nonce) && isOfSameSpace(as: other) && hash == other.hash
            && isSession == other.isSession && protection == other.protection
            && hashesUser == other.hashesUser && Grammar.areSame(opaque, other.opaque)
    }

    /// Whether both are of one protection space.
    func isOfSameSpace(as other: DigestChallenge) -> Bool {
        Grammar.areSame(realm, other.realm) && paths == other.paths
    }

    private static func algorithm(_ name: String) -> (DigestHash, Bool)? {
        switch name.lowercased() {
        case "md5": (.md5, false)
        case "md5-sess": (.md5, true)
        case "sha-256": (.sha256, false)
        case "sha-256-sess": (.sha256, true)
        default: nil
        }
    }

    // `auth` where it is offered: the other one reads the content twice.
    private static func protection(_ offered: String) -> Protection? {
        let names = offered.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() }
        if names.contains("auth") { return .request }
        return names.contains("auth-int") ? .content : nil
    }

    // The URIs of `domain` on the challenge's own origin; one credential is for one origin here.
    private static func paths(_ domain: String, _ base: URL) -> [String] {
        domain.split(separator: " ").prefix(16).compactMap { text in
            guard let url = URL(reference: String(text), relativeTo: base)?.absoluteURL,
                Origin(url) == Origin(base)
            else { return nil }
            let path = url.path(percentEncoded: true)
            return path.isEmpty ? "/" : path
        }
    }
}
