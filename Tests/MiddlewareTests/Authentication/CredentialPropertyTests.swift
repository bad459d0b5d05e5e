// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("The law of credentials")
struct CredentialPropertyTests {
    private static let hosts = [
        "http://a.example", "https://a.example", "http://a.example:8080", "http://b.example",
        "https://c.example",
    ]

    /// One world: which origins have the credential, where redirects lead, and what servers answer.
    private struct World {
        let allowed: [String]?
        let base: String?
        let gates: [Int]
        let starts: [Int]
        let moves: [Int]
        let answers: [Int]

        init(_ generator: inout SeededGenerator) {
            func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
            allowed =
                number(0..<2) == 0
                ? nil
                : hosts.filter { _ in number(0..<2) == 0 } + [hosts[number(0..<hosts.count)]]
            base = number(0..<3) == 0 ? hosts[number(0..<hosts.count)] : nil
            gates = (0..<number(1..<4)).map { _ in number(0..<4) }
            starts = (0..<number(1..<4)).map { _ in number(0..<hosts.count) }
            moves = (0..<8).map { _ in number(0..<hosts.count) }
            answers = (0..<8).map { _ in number(0..<6) }
        }
    }

    private final class Tokens: BearerTokenProvider {
        func token(
            replacing old: BearerToken?, by exchange: TokenExchange
        ) async throws -> BearerToken { BearerToken("S3CRET") }
    }

    private static func transport(_ world: World) -> MockTransport {
        let turn = Mutex(0)
        return MockTransport { _ in
            let turn = turn.withLock { turn in
                turn += 1
                return turn % 8
            }
            switch world.answers[turn] {
            case 0, 1:
                let location = hosts[world.moves[turn]] + "/\(turn)"
                return .status(turn % 2 == 0 ? 302 : 307, headers: ["Location": location])
            case 2: return .status(401, headers: ["WWW-Authenticate": "Bearer"])
            case 3:
                let challenge =
                    #"Digest realm="r", nonce="\#(turn)", qop="auth", domain="\#(hosts[0])/""#
                return .status(401, headers: ["WWW-Authenticate": challenge])
            case 4: return .status(503)
            default: return .ok()
            }
        }
    }

    private static func gates(_ world: World) -> [any Gate] {
        let origins = world.allowed.map { CredentialOrigins(parsing: $0) } ?? .own
        let credentials: [any Gate] = world.gates.map { kind in
            switch kind {
            case 0: BasicAuthentication(user: "u", password: "S3CRET", origins: origins)
            case 1: DigestAuthentication(user: "u", password: "S3CRET", origins: origins)
            case 2: BearerAuthentication(BearerTokens(provider: Tokens()), origins: origins)
            default: Retry(attempts: 2, backoff: Backoff(base: .zero))
            }
        }
        // The redirect stands outside, or between the credentials.
        let place = world.moves[0] % (credentials.count + 1)
        return Array(credentials[..<place]) + [Redirect(limit: 6)] + Array(credentials[place...])
    }

    @Test("No credential is ever sent to another origin, for random servers and stacks")
    func origins() async throws {
        var carried = 0
        for run in Law.runs {
            var generator = SeededGenerator(seed: Law.seed(run))
            let world = World(&generator)
            let transport = Self.transport(world)
            let client = Client(
                baseURL: world.base.map { Target($0) }, transport: transport,
                stack: Stack(Self.gates(world)), serializers: SerializerTable(),
                timeSource: ManualClock(), randomSource: SeededRandomSource(seed: 1))
            for start in world.starts {
                _ = try? await client.get(Target(Self.hosts[start] + "/s")).response()
            }
            let own = world.base ?? Self.hosts[world.starts[0]]
            let allowed = world.allowed ?? [own]
            for sent in transport.sent where sent.request.headers.contains(.authorization) {
                carried += 1
                let origin = sent.request.origin?.description ?? "?"
                #expect(allowed.contains(origin), "seed \(Law.seed(run)): \(origin)")
            }
        }
        #expect(carried > Law.runs.count / 2, "the law was put to the test")
    }
}
