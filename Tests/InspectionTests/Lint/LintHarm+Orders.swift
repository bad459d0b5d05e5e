// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeTraffic

// Limits, keys, schemes and signatures.
extension LintHarm {
    static let orders: [LintHarm] = [
        LintHarm(
            "hedge-inside-rate-limit",
            wrong: { [.rateLimit(perSecond: 0.01), .hedge(after: .seconds(1), attempts: 3)] },
            right: { [.hedge(after: .seconds(1), attempts: 3), .rateLimit(perSecond: 0.01)] },
            happens: { stack, simulation in
                let slow = MockTransport([.any(.ok(text: "x").delayed(by: .seconds(20)))])
                _ = try await client(stack, simulation, slow).get("x").string()
                return slow.sentCount == 3 && simulation.elapsed < .seconds(100)
            }),
        LintHarm(
            "rate-limit-inside-concurrency-limit",
            wrong: { [.concurrencyLimit(total: 1), .rateLimit(perSecond: 0.01)] },
            right: { [.rateLimit(perSecond: 0.01), .concurrencyLimit(total: 1)] },
            happens: { stack, simulation in
                let client = client(stack, simulation, MockTransport([.any(.ok(text: "x"))]))
                _ = try await client.get("x").string()
                async let inLine = client.get("x").string()
                try await simulation.pause(.seconds(1))
                let begin = simulation.elapsed
                _ = try await client.get("https://b.test/x").string()
                let waited = simulation.elapsed - begin
                _ = try await inLine
                return waited > .seconds(1)
            }),
        LintHarm(
            "fixed-idempotency-key",
            wrong: { [.setHeaders(["Idempotency-Key": "k"])] },
            right: { [.idempotencyKey()] },
            happens: { stack, simulation in
                // The answers, by the keys of what was asked for.
                let answers = Mutex<[String: String]>([:])
                let server = MockTransport { request in
                    let order = String(decoding: request.body.inMemory ?? Data(), as: UTF8.self)
                    let key = request.headers[.idempotencyKey] ?? ""
                    return answers.withLock { answers -> MockResponse in
                        let answer = answers[key] ?? "took \(order)"
                        answers[key] = answer
                        return .ok(text: answer)
                    }
                }
                let client = client(stack, simulation, server)
                _ = try await client.request(.post, "x", body: .text("a")).string()
                return try await client.request(.post, "x", body: .text("b")).string() == "took a"
            }),
        LintHarm(
            "hsts-inside-https-policy",
            wrong: { [.urlPolicy(schemes: ["https"]), .hsts()] },
            right: { [.hsts(), .urlPolicy(schemes: ["https"])] },
            happens: { stack, simulation in
                let asking = ["Strict-Transport-Security": "max-age=600"] as HTTPHeaders
                let server = MockTransport([.any(.ok(text: "x", headers: asking))])
                let client = client(stack, simulation, server)
                _ = try await client.get("x").string()
                return (try? await client.get("http://a.test/x").string()) == nil
            }),
        LintHarm(
            "signed-before-change",
            wrong: { [.digest(user: "u", password: "p"), .compressBodies()] },
            right: { [.compressBodies(), .digest(user: "u", password: "p")] },
            happens: { stack, simulation in
                let challenge = #"Digest realm="r", nonce="n", qop="auth-int", algorithm=SHA-256"#
                let server = MockTransport { request in
                    hasDigestOfContent(request)
                        ? .ok(text: "x")
                        : .status(401, headers: ["WWW-Authenticate": challenge])
                }
                let content = Data(repeating: 0x61, count: 10_000)
                let client = client(stack, simulation, server)
                let call = client.request(.post, "x", body: .data(content, type: nil))
                return try await call.response().status == .unauthorized
            }),
        overHTTP,
    ]

    private static var overHTTP: LintHarm {
        let base: Target = "http://a.test/"
        var harm = LintHarm(
            "secret-over-http",
            wrong: { [.basic(user: "u", password: "p")] },
            right: { [.basic(user: "u", password: "p", origins: ["https://a.test"])] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.ok(text: "x"))])
                _ = try await client(stack, simulation, baseURL: base, server).get("x").string()
                return server.sent.contains {
                    $0.request.url.scheme == "http" && $0.request.headers[.authorization] != nil
                }
            })
        harm.baseURL = base
        return harm
    }

    // As a server computes it (RFC 7616 §3.4.1).
    private static func hasDigestOfContent(_ request: Request) -> Bool {
        let field = (request.headers[.authorization] ?? "").dropFirst("Digest ".count)
        let marks = CharacterSet(charactersIn: " \"")
        var parts: [String: String] = [:]
        for part in field.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: marks)
            }
            if pair.count == 2 { parts[pair[0]] = pair[1] }
        }
        func digest(_ data: Data) -> String { SHA256.digest(of: data).hexadecimal }
        func hash(_ texts: String...) -> String { digest(Data(texts.joined(separator: ":").utf8)) }
        let content = digest(request.body.inMemory ?? Data())
        let expected = hash(
            hash("u", "r", "p"), "n", parts["nc"] ?? "", parts["cnonce"] ?? "", "auth-int",
            hash(request.method.description, parts["uri"] ?? "", content))
        return parts["response"] == expected
    }
}
