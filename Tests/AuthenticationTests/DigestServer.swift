// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A server that checks Digest answers by a reading of RFC 7616 of its own.
final class DigestServer: Sendable {
    private struct State {
        var nonces: [String: Set<Int>] = [:]
        var made = 0
        var counts: [Int] = []
    }

    private let state = Mutex(State())
    private let algorithm: String
    private let qop: String
    private let password: String
    private let uses: Int
    private let namesNext: Bool
    private let challenges: @Sendable (String) -> [String]
    private let mock = Mutex<MockTransport?>(nil)

    init(
        algorithm: String = "SHA-256", qop: String = "auth", password: String = "p",
        uses: Int = .max, namesNext: Bool = false,
        challenges: @escaping @Sendable (String) -> [String] = { [$0] }
    ) {
        self.algorithm = algorithm
        self.qop = qop
        self.password = password
        self.uses = uses
        self.namesNext = namesNext
        self.challenges = challenges
        let transport = MockTransport(recordLimit: 5000) { [weak self] request in
            self?.answer(request) ?? .status(500)
        }
        mock.withLock { $0 = transport }
    }

    var transport: MockTransport { mock.withLock { $0 } ?? MockTransport([]) }

    /// The counts of accepted answers, in order; 0 where there was none to give.
    var counts: [Int] { state.withLock { $0.counts } }

    func forget() { state.withLock { $0.nonces = [:] } }

    private func answer(_ request: Request) -> MockResponse {
        guard let field = request.headers[.authorization], field.hasPrefix("Digest ") else {
            return challenge(isStale: false)
        }
        let headers: HTTPHeaders = ["WWW-Authenticate": field]
        guard let answer = AuthenticationChallenge.challenges(in: headers).first,
            let nonce = answer["nonce"], answer["response"] == expected(answer, request)
        else { return challenge(isStale: false) }
        let count = Int(answer["nc"] ?? "0", radix: 16) ?? -1
        let verdict = state.withLock { state -> Bool? in
            guard var seen = state.nonces[nonce] else { return nil }
            if seen.count >= uses { return false }
            guard count == 0 || seen.insert(count).inserted else { return nil }
            state.nonces[nonce] = seen
            state.counts.append(count)
            return true
        }
        guard let verdict else { return challenge(isStale: false) }
        guard verdict else { return challenge(isStale: true) }
        if !namesNext { return .ok() }
        return .ok(headers: ["Authentication-Info": #"qop=auth, nextnonce="\#(makeNonce())""#])
    }

    private func expected(_ answer: AuthenticationChallenge, _ request: Request) -> String {
        let hash: DigestHash = algorithm.hasPrefix("MD5") ? .md5 : .sha256
        let nonce = answer["nonce"] ?? ""
        var secret = hash.hex("u:r:\(password)")
        if algorithm.hasSuffix("-sess") {
            let first = namesNext ? "nonce1" : nonce
            secret = hash.hex("\(secret):\(first):\(answer["cnonce"] ?? "")")
        }
        let query = request.url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        var line = request.method.rawValue + ":" + request.url.path(percentEncoded: true) + query
        if answer["qop"] == "auth-int" {
            line += ":" + hash.hex(String(decoding: body(request), as: UTF8.self))
        }
        guard let qop = answer["qop"], self.qop.contains(qop) else {
            return self.qop.isEmpty ? hash.hex("\(secret):\(nonce):\(hash.hex(line))") : "?"
        }
        let middle = "\(nonce):\(answer["nc"] ?? ""):\(answer["cnonce"] ?? ""):\(qop)"
        return hash.hex("\(secret):\(middle):\(hash.hex(line))")
    }

    private func body(_ request: Request) -> Data {
        transport.sent.last { $0.request.url == request.url }?.body ?? Data()
    }

    private func makeNonce() -> String {
        state.withLock { state in
            state.made += 1
            state.nonces["nonce\(state.made)"] = []
            return "nonce\(state.made)"
        }
    }

    private func challenge(isStale: Bool) -> MockResponse {
        var text =
            #"Digest realm="r", nonce="\#(makeNonce())", algorithm=\#(algorithm), opaque="o""#
        if !qop.isEmpty { text += #", qop="\#(qop)""# }
        if isStale { text += ", stale=TRUE" }
        var headers = HTTPHeaders()
        for line in challenges(text) { headers.append(.wwwAuthenticate, line) }
        return .status(401, headers: headers, body: Data("out".utf8))
    }
}
