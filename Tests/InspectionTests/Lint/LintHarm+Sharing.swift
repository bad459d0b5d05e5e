// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeTesting
import TurnpikeTraffic

// What is shared, stored and logged.
extension LintHarm {
    static let shares: [LintHarm] = [
        LintHarm(
            "cache-inside-retry",
            wrong: { [.retry(attempts: 3), .cache()] },
            right: { [.cache(), .retry(attempts: 3)] },
            happens: { stack, simulation in
                let fresh = ["Cache-Control": "max-age=1, stale-if-error=600"] as HTTPHeaders
                let server = MockTransport([
                    .any(
                        .ok(text: "old", headers: fresh), .status(503),
                        .ok(text: "new", headers: fresh))
                ])
                let client = client(stack, simulation, server)
                _ = try await client.get("x").string()
                try await simulation.pause(.seconds(60))
                return try await client.get("x").string() == "old"
            }),
        LintHarm(
            "rate-limit-above-cache",
            wrong: { [.rateLimit(perSecond: 0.1), .cache()] },
            right: { [.cache(), .rateLimit(perSecond: 0.1)] },
            happens: { stack, simulation in
                let client = client(stack, simulation, fixed)
                for _ in 0..<3 { _ = try await client.get("x").string() }
                return simulation.elapsed >= .seconds(20)
            }),
        LintHarm(
            "concurrency-limit-above-cache",
            wrong: { [.concurrencyLimit(total: 1), .cache()] },
            right: { [.cache(), .concurrencyLimit(total: 1)] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.lastPathComponent == "slow"
                        ? .ok(text: "x").delayed(by: .seconds(30))
                        : .ok(text: "x", headers: ["Cache-Control": "max-age=600"])
                }
                let client = client(stack, simulation, server)
                _ = try await client.get("x").string()
                async let slow = client.get("slow").string()
                try await simulation.pause(.seconds(1))
                let begin = simulation.elapsed
                _ = try await client.get("x").string()
                let waited = simulation.elapsed - begin
                _ = try await slow
                return waited > .seconds(1)
            }),
        LintHarm(
            "concurrency-limit-outside-retry",
            wrong: { [.concurrencyLimit(total: 1), .retry(attempts: 2, budget: nil)] },
            right: { [.retry(attempts: 2, budget: nil), .concurrencyLimit(total: 1)] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.lastPathComponent == "down"
                        ? .status(503, headers: ["Retry-After": "30"]) : .ok(text: "x")
                }
                let client = client(stack, simulation, server)
                async let down = client.get("down").string()
                try await simulation.pause(.seconds(1))
                let begin = simulation.elapsed
                _ = try await client.get("x").string()
                let waited = simulation.elapsed - begin
                _ = try? await down
                return waited > .seconds(1)
            }),
        LintHarm(
            "limit-above-coalesce",
            wrong: { [.concurrencyLimit(total: 2), .coalesce()] },
            right: { [.coalesce(), .concurrencyLimit(total: 2)] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.lastPathComponent == "slow"
                        ? .ok(text: "x").delayed(by: .seconds(30)) : .ok(text: "x")
                }
                let client = client(stack, simulation, server)
                async let first = client.get("slow").string()
                async let second = client.get("slow").string()
                try await simulation.pause(.seconds(1))
                let begin = simulation.elapsed
                _ = try await client.get("fast").string()
                let waited = simulation.elapsed - begin
                _ = try await (first, second)
                return waited > .seconds(1)
            }),
        LintHarm(
            "identity-inside-sharing",
            wrong: { [.coalesce(), TaskUser()] },
            right: { [TaskUser(), .coalesce()] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    .ok(text: request.headers["X-User"] ?? "").delayed(by: .seconds(1))
                }
                let client = client(stack, simulation, server)
                async let ada = TaskUser.$name.withValue("ada") {
                    try await client.get("me").string()
                }
                async let bob = TaskUser.$name.withValue("bob") {
                    try await client.get("me").string()
                }
                return try await (ada, bob) != ("ada", "bob")
            }),
        LintHarm(
            "cookies-inside-cache",
            wrong: { [.cache(), .cookies()] },
            right: { [.cookies(), .cache()] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    let path = request.url.lastPathComponent
                    if path != "me" { return .ok(headers: ["Set-Cookie": "user=\(path); Path=/"]) }
                    return .ok(
                        text: request.headers[.cookie] ?? "",
                        headers: ["Cache-Control": "private, max-age=600"])
                }
                let client = client(stack, simulation, server)
                _ = try await client.get("ada").response().body.collect(upTo: 9)
                _ = try await client.get("me").string()
                _ = try await client.get("bob").response().body.collect(upTo: 9)
                return try await client.get("me").string() == "user=ada"
            }),
        LintHarm(
            "log-blind",
            wrong: { [.circuitBreaker(minimum: 1), .log(to: sink)] },
            right: { [.log(to: sink), .circuitBreaker(minimum: 1)] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(500))])
                let client = client(stack, simulation, down)
                let before = sink.lines.count
                for _ in 0..<5 { _ = try? await client.get("x").data() }
                return sink.lines.count - before < 5
            }),
        LintHarm(
            "stated-order",
            wrong: { [.traceContext(), .retry(attempts: 2)] },
            right: { [.retry(attempts: 2), .traceContext()] },
            happens: { stack, simulation in
                let spans = Mutex<Set<String>>([])
                let server = MockTransport { request in
                    spans.withLock { _ = $0.insert(request.headers[.traceparent] ?? "") }
                    return .status(503)
                }
                _ = try? await client(stack, simulation, server).get("x").data()
                return spans.withLock { $0.count } == 1
            }),
        LintHarm(
            "stated-order",
            wrong: { [.rateLimit(perSecond: 0.1), .admissionControl(), .attemptTimeout()] },
            right: { [.admissionControl(), .rateLimit(perSecond: 0.1), .attemptTimeout()] },
            happens: { stack, simulation in
                let client = client(stack, simulation, MockTransport([.any(.status(503))]))
                for _ in 0..<3 { _ = try? await client.get("x").response() }
                // A call that the server has no place for waits in line before it is refused, and
                // keeps a more important one from its turn.
                async let refused: Void = {
                    _ = try? await client.get("x").criticality(.sheddable).response()
                }()
                let begin = simulation.elapsed
                _ = await refused
                return simulation.elapsed - begin > .seconds(1)
            }),
    ]

    private static let sink = MemoryLogSink()

    private static var fixed: MockTransport {
        MockTransport([.any(.ok(text: "x", headers: ["Cache-Control": "max-age=600"]))])
    }

    // MARK: Hops

    static let hops: [LintHarm] = [
        LintHarm(
            "target-check-outside-redirect",
            wrong: { [.urlPolicy(denyPrivate: .always, resolver: nil), .redirect()] },
            right: { [.redirect(), .urlPolicy(denyPrivate: .always, resolver: nil)] },
            happens: { stack, simulation in
                let server = leading(to: "https://169.254.169.254/secrets")
                _ = try? await client(stack, simulation, server).get("x").data()
                return server.sent.contains { $0.request.url.host() == "169.254.169.254" }
            }),
        LintHarm(
            "hsts-outside-redirect",
            wrong: { [.hsts(), .redirect(allowDowngrade: true)] },
            right: { [.redirect(allowDowngrade: true), .hsts()] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.path() == "/x"
                        ? .status(302, headers: ["Location": "http://b.test/y"])
                        : .ok(text: "y", headers: ["Strict-Transport-Security": "max-age=600"])
                }
                let client = client(stack, simulation, server)
                _ = try await client.get("https://b.test/y").string()
                _ = try await client.get("x").string()
                return server.sent.contains { $0.request.url.scheme == "http" }
            }),
        LintHarm(
            "cookies-outside-redirect",
            wrong: { [.cookies(), .redirect()] },
            right: { [.redirect(), .cookies()] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.path() == "/login"
                        ? .status(303, headers: ["Location": "/home", "Set-Cookie": "s=1"])
                        : .ok(text: request.headers[.cookie] ?? "none")
                }
                let client = client(stack, simulation, server)
                return try await client.get("login").string() == "none"
            }),
        LintHarm(
            "credential-outside-redirect",
            wrong: { [.bearer(token: "t", origins: both), .redirect()] },
            right: { [.redirect(), .bearer(token: "t", origins: both)] },
            happens: { stack, simulation in
                let server = leading(to: "https://b.test/y")
                _ = try await client(stack, simulation, server).get("x").string()
                return server.sent.last?.request.headers[.authorization] == nil
            }),
        LintHarm(
            "cache-outside-redirect",
            wrong: { [.cache(), .redirect()] },
            right: { [.redirect(), .cache()] },
            happens: { stack, simulation in
                let target = Mutex(0)
                let server = MockTransport { request in
                    if request.url.path() != "/x" {
                        return .ok(
                            text: request.url.path(), headers: ["Cache-Control": "max-age=600"])
                    }
                    let number = target.withLock { value in
                        value += 1
                        return value
                    }
                    return .status(302, headers: ["Location": "/\(number)"])
                }
                let client = client(stack, simulation, server)
                _ = try await client.get("x").string()
                return try await client.get("x").string() == "/1"
            }),
        LintHarm(
            "redirect-inside-retry",
            wrong: { [.retry(attempts: 3), .redirect()] },
            right: { [.redirect(), .retry(attempts: 3)] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    request.url.path() == "/x"
                        ? .status(307, headers: ["Location": "/y"]) : .status(503)
                }
                _ = try? await client(stack, simulation, server).get("x").response()
                return server.sent.count { $0.request.url.path() == "/x" } > 1
            }),
        LintHarm(
            "validation-inside-redirect",
            wrong: { [.redirect(), .log(to: sink), .validate()] },
            right: { [.validate(), .redirect(), .log(to: sink)] },
            happens: { stack, simulation in
                let before = sink.lines.count
                let server = leading(to: "/y")
                _ = try await client(stack, simulation, server).get("x").string()
                return sink.lines.dropFirst(before).contains { $0.contains("is not accepted") }
            }),
    ]

    private static let both: CredentialOrigins = ["https://a.test", "https://b.test"]

    private static func leading(to target: String) -> MockTransport {
        MockTransport { request in
            request.url.path() == "/x"
                ? .status(302, headers: ["Location": target]) : .ok(text: "y")
        }
    }
}

/// Names the user for whom a task works.
private struct TaskUser: SynchronousRequestAdapter {
    @TaskLocal static var name = ""

    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "names the user", .setsFields(["X-User"], .secret(isBound: true, variesByCall: true)))
    }

    func adapt(_ request: inout Request, context: Context) { request.headers["X-User"] = Self.name }
}
