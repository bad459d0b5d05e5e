// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A Digest challenge that this module can answer (RFC 7616 §3.3).
struct DigestChallenge: Sendable, Hashable {
    /// The parts of a request that an answer protects.
    enum Protection: String, Sendable {
        /// The request line.
        case request = "auth"
        /// The request line and the content.
        case content = "auth-int"
    }

    let hash: DigestHash
    let isSession: Bool
    let realm: String
    var nonce: String
    let opaque: String?
    let protection: Protection?
    let hashesUser: Bool
    let isStale: Bool
    /// Whether the challenge names its algorithm; if it does not, the algorithm is MD5.
    let namesAlgorithm: Bool
    /// The paths that the credential covers; nil covers the whole origin.
    let paths: [String]?

    /// Creates a challenge; nil if it has another scheme, lacks a required parameter, or asks for
    /// an algorithm or a protection that is not supported.
    init?(_ challenge: AuthenticationChallenge, for url: URL) {
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
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        let offered = AuthenticationChallenge.challenges(in: head.headers)
            .compactMap { DigestChallenge($0, for: head.url) }
        let best = offered.map(\.hash).max()
        return offered.first { $0.hash == best }
    }

    /// The name of the algorithm, as written in the answer.
    var algorithmName: String { hash.name + (isSession ? "-sess" : "") }

    /// Whether the credential covers a path.
    func covers(_ path: String) -> Bool { paths?.contains { path.hasPrefix($0) } ?? true }

    /// Whether the nonce count of one challenge continues for the other.
    func isSame(as other: DigestChallenge) -> Bool {
        Grammar.areSame(nonce, other.nonce) && isOfSameSpace(as: other) && hash == other.hash
            && isSession == other.isSession && protection == other.protection
            && hashesUser == other.hashesUser && Grammar.areSame(opaque, other.opaque)
    }

    /// Whether both belong to one protection space.
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

    // Prefers `auth`, because `auth-int` reads the content twice.
    private static func protection(_ offered: String) -> Protection? {
        let names = offered.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() }
        if names.contains("auth") { return .request }
        return names.contains("auth-int") ? .content : nil
    }

    // The URIs of `domain` on the challenge's own origin; here a credential covers one origin.
    private static func paths(_ domain: String, _ base: URL) -> [String] {
        let base = TargetURI(base)
        return domain.split(separator: " ").prefix(16).compactMap { text in
            guard let uri = TargetURI(reference: String(text), relativeTo: base),
                uri.origin == base.origin
            else { return nil }
            return uri.path.isEmpty ? "/" : uri.path
        }
    }
}
