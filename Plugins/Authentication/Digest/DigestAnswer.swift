// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The answer to a Digest challenge (RFC 7616 §3.4).
struct DigestAnswer: Sendable {
    private(set) var challenge: DigestChallenge
    private let user: String
    // The hash of user, realm and password. A `-sess` algorithm adds the nonces to the hash.
    private let secretHash: Secret
    private let clientNonce: String
    var count: UInt32 = 1

    init(_ challenge: DigestChallenge, user: String, password: String, clientNonce: String) {
        let hash = challenge.hash
        var secretHash = hash.hex("\(user):\(challenge.realm):\(password)")
        if challenge.isSession {
            secretHash = hash.hex("\(secretHash):\(challenge.nonce):\(clientNonce)")
        }
        self.challenge = challenge
        self.user = user
        self.secretHash = Secret(secretHash)
        self.clientNonce = clientNonce
    }

    // Returns the first answer to the `nextnonce` of the server (RFC 7616 §3.5). The hash of a
    // `-sess` algorithm does not change (RFC 7616 §3.6).
    func following(nonce: String) -> DigestAnswer {
        var copy = self
        copy.challenge.nonce = nonce
        copy.count = 1
        return copy
    }

    // Returns the value of the `Authorization` field. The content hash is required if the challenge
    // protects the content.
    func field(_ method: HTTPMethod, _ target: String, contentHash: String?) -> String {
        let hash = challenge.hash
        var parts = userFields
        parts += [
            "realm=" + Self.quoted(challenge.realm), "uri=" + Self.quoted(target),
            "nonce=" + Self.quoted(challenge.nonce),
        ]
        if challenge.namesAlgorithm { parts.append("algorithm=" + challenge.algorithmName) }
        var request = "\(method.rawValue):\(target)"
        var middle = challenge.nonce
        if let protection = challenge.protection {
            let digits = String(count, radix: 16)
            let count = String(repeating: "0", count: 8 - digits.count) + digits
            if protection == .content { request += ":" + (contentHash ?? hash.hex("")) }
            middle += ":\(count):\(clientNonce):\(protection.rawValue)"
            parts += ["qop=" + protection.rawValue, "nc=" + count]
        }
        // For a `-sess` algorithm, the server needs the client nonce to compute the hash.
        if challenge.protection != nil || challenge.isSession {
            parts.append("cnonce=" + Self.quoted(clientNonce))
        }
        let response = hash.hex("\(secretHash.value):\(middle):\(hash.hex(request))")
        parts.append("response=" + Self.quoted(response))
        if let opaque = challenge.opaque { parts.append("opaque=" + Self.quoted(opaque)) }
        return "Digest " + parts.joined(separator: ", ")
    }

    static func target(of request: Request) -> String {
        request.asksServer ? "*" : request.targetURI.originForm
    }

    private var userFields: [String] {
        if challenge.hashesUser {
            let hashed = challenge.hash.hex("\(user):\(challenge.realm)")
            return ["username=" + Self.quoted(hashed), "userhash=true"]
        }
        if user.utf8.allSatisfy({ $0 < 0x80 }) { return ["username=" + Self.quoted(user)] }
        // The encoding is in RFC 8187.
        return ["username*=UTF-8''" + PercentEncoding.unreserved.encode(user)]
    }

    private static func quoted(_ text: String) -> String {
        var quoted = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                quoted.append(UInt8(ascii: "\\"))
            }
            quoted.append(byte)
        }
        quoted.append(UInt8(ascii: "\""))
        return String(decoding: quoted, as: UTF8.self)
    }
}

/// A hash function of Digest (RFC 7616 §3.3).
enum DigestHash: Sendable, Hashable, Comparable {
    case md5
    case sha256

    var name: String { self == .md5 ? "MD5" : "SHA-256" }

    func hex(_ text: String) -> String {
        let data = Data(text.utf8)
        return switch self {
        case .md5: MD5.digest(of: data).hexadecimal
        case .sha256: SHA256.digest(of: data).hexadecimal
        }
    }

    // Returns the hash of a request's content, in hexadecimal digits. The body must be replayable.
    func hex(_ body: RequestBody) async throws -> String {
        switch self {
        case .md5: try await body.read(into: MD5()) { $0.update($1) }.finalize().hexadecimal
        case .sha256: try await SHA256.digest(of: body).hexadecimal
        }
    }
}

/// A Digest challenge that this module supports (RFC 7616 §3.3).
struct DigestChallenge: Sendable, Hashable {
    /// The part of a request that an answer protects.
    enum Protection: String, Sendable {
        case request = "auth"
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
    // Whether the challenge names its algorithm. If not, the algorithm is MD5.
    let namesAlgorithm: Bool
    // The paths for which the credential is valid, or nil for all paths of the origin.
    let paths: [String]?

    /// Returns nil if the scheme differs, if a required parameter is missing, or if the algorithm
    /// or the protection is not supported.
    init?(_ challenge: AuthenticationChallenge, for url: URL) {
        guard challenge.scheme == "digest", let realm = challenge["realm"],
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

    // Returns the strongest Digest challenge of a response. If several challenges are equally
    // strong, the result is the first of these challenges.
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        let offered = AuthenticationChallenge.challenges(in: head.headers)
            .compactMap { DigestChallenge($0, for: head.url) }
        let best = offered.map(\.hash).max()
        return offered.first { $0.hash == best }
    }

    var algorithmName: String { hash.name + (isSession ? "-sess" : "") }

    func covers(_ path: String) -> Bool { paths?.contains { path.hasPrefix($0) } ?? true }

    /// Whether the nonce count of one challenge continues for the other challenge.
    func isSame(as other: DigestChallenge) -> Bool {
        Grammar.areSame(nonce, other.nonce) && isOfSameSpace(as: other) && hash == other.hash
            && isSession == other.isSession && protection == other.protection
            && hashesUser == other.hashesUser && Grammar.areSame(opaque, other.opaque)
    }

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

    // `auth` is preferred, because `auth-int` reads the content twice.
    private static func protection(_ offered: String) -> Protection? {
        let names = offered.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() }
        if names.contains("auth") { return .request }
        return names.contains("auth-int") ? .content : nil
    }

    // Returns the paths of the URIs in `domain` that have the challenge's origin, because a
    // credential is for one origin.
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
