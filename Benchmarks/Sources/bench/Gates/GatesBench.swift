// SPDX-License-Identifier: Apache-2.0

import Foundation
import MallocCounter
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeEndpoints
import TurnpikeTraffic

/// The cost of each gate in its steady state: one successful call over a mock transport, minus the
/// same call through a gate that does nothing.
enum GatesBench {
    /// One row of the table, with the name of its gate.
    private struct Row {
        let name: String
        let stack: Stack
        /// Why the gate may cost more than a microsecond.
        var reason: String?
        /// The challenge that the server sends before it responds.
        var challenge: String?
        /// The request; nil for the usual one.
        var request: Request?
    }

    /// Resolves every name at once, because the cost of a lookup belongs to the system.
    private struct NoLookUp: HostResolver {
        private let found = [IPAddress("93.184.216.34")].compactMap(\.self)

        func addresses(of name: String, context: Context) async throws -> [IPAddress] { found }
    }

    private struct NoSink: LogSink {
        func write(_ line: String) {}
        func flush() async {}
    }

    private static let ownTask =
        "each attempt has its own task and context, so that a slow one does not delay the call"

    private static let origin = Origin(scheme: "http", host: "example.com", port: 80)
    private static let timer =
        "a timer is set and cancelled, and a cancellable scope is created"
    private static let chance = "random numbers come from the kernel, as they must be unpredictable"

    // The cookies that the server has set, as if the client had called it before.
    private static func cookies() -> CookieJar {
        let jar = CookieJar()
        if let url = URL(string: "http://example.com/") {
            jar.store(
                ["sid=31d4d96e407aad42; Path=/", "lang=en-US; Max-Age=86400"], from: url, at: Date()
            )
        }
        return jar
    }

    // A person has closed the circuit of the calls, and isolated another.
    private static func byHand() -> CircuitBreaker {
        let breaker = CircuitBreaker()
        breaker.isolate(Origin(scheme: "http", host: "other.example", port: 80), by: "Ann")
        breaker.close(origin, by: "Ann")
        return breaker
    }

    private static func hosts() -> HSTSStore {
        let store = HSTSStore()
        store.insert(
            "example.com", until: .distantFuture, includesSubdomains: true)
        return store
    }

    private static func post(_ bytes: Int) -> Request {
        let pattern = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) & 0x3F + 0x20 }
        return Request(.post, "http://example.com/users", body: .data(Data(pattern)))
    }

    // The cost of the choice is the time above that with a single endpoint, which leaves no choice.
    private static func endpoints(
        _ count: Int, _ policy: BalancingPolicy = .leastRequests, name: String = ""
    ) -> Row {
        let list = (0..<count).map { Endpoint("10.0.\($0 / 250).\($0 % 250)", port: 80) }
        return Row(
            name: "endpoints-\(count)\(name)",
            stack: [.endpoints(for: "example.com", from: .list(list), policy: policy)],
            reason: "the choice is reported, counted as running, and rated at the end of the body",
            request: Request(.get, "http://example.com/users/1", headers: ["X-User": "7"]))
    }

    private static let rows = [
        Row(name: "deadline", stack: [.deadline()], reason: timer),
        Row(name: "attemptTimeout", stack: [.attemptTimeout()], reason: timer),
        Row(name: "idleTimeout", stack: [.idleTimeout()]),
        Row(name: "validate", stack: [.validate()]),
        Row(name: "redirect", stack: [.redirect()]),
        Row(name: "limits", stack: [.limits()]),
        Row(name: "setHeaders", stack: [.setHeaders(["X-A": "1"])]),
        Row(name: "defaultHeaders", stack: [.defaultHeaders(["X-A": "1"])]),
        Row(name: "baseURL", stack: [.baseURL("http://example.com/")]),
        Row(name: "userAgent", stack: [.userAgent()]),
        Row(name: "requestID", stack: [.requestID()], reason: chance),
        Row(
            name: "idempotencyKey", stack: [.idempotencyKey()], reason: chance, request: post(64)),
        Row(name: "traceContext", stack: [.traceContext()], reason: chance),
        Row(name: "when", stack: [.when({ $0.method == .get }, then: [Pass()])]),
        Row(name: "only", stack: [.only(for: [origin], [Pass()])]),
        Row(name: "urlPolicy", stack: [.urlPolicy()]),
        Row(
            name: "urlPolicy-denyPrivate",
            stack: [.urlPolicy(denyPrivate: .always, resolver: NoLookUp())],
            reason: "every form of the host is parsed, and its addresses are looked up and checked"
        ),
        Row(
            name: "cookies", stack: [.cookies(cookies())],
            reason: "two cookies are found, sorted and written into the request"),
        Row(
            name: "hsts", stack: [.hsts(hosts())],
            reason: "each URL is rewritten from http to https"),
        Row(name: "basic", stack: [.basic(user: "u", password: "p")]),
        Row(name: "bearer", stack: [.bearer(token: "t")]),
        Row(
            name: "digest", stack: [.digest(user: "u", password: "p")],
            reason: "each request is counted, and hashed in two and a half blocks",
            challenge: #"Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth""#),
        Row(
            name: "log", stack: [.log(to: NoSink())],
            reason: "a line with a redacted URL is written for each pass"),
        Row(
            name: "log-sampled", stack: [.log(to: NoSink(), sampling: 0.01)],
            reason: "each call takes a random number, and its end is awaited"),
        Row(
            name: "metrics", stack: [.metrics(MetricsStore())],
            reason: "three series are found by their labels, and the body's end is awaited"),
        Row(
            name: "compressBodies", stack: [.compressBodies()],
            reason: "4 KiB are compressed, which is the gate's task", request: post(4096)),
        Row(name: "circuitBreaker", stack: [.circuitBreaker()]),
        Row(name: "circuitBreaker-byHand", stack: [byHand()]),
        Row(name: "admissionControl", stack: [.admissionControl()]),
        Row(name: "rateLimit", stack: [.rateLimit(perSecond: 1e9, burst: 1_000_000)]),
        Row(name: "concurrencyLimit", stack: [.concurrencyLimit()]),
        Row(
            name: "concurrencyLimit-adaptive",
            stack: [.concurrencyLimit(adaptive: AdaptiveLimit())]),
        Row(name: "retry", stack: [.retry()]),
        Row(name: "hedge-fixed", stack: [.hedge(after: .seconds(5))], reason: ownTask),
        Row(
            name: "hedge-percentile",
            stack: [.hedge(after: .percentile(initially: .seconds(5)))], reason: ownTask),
        Row(
            name: "coalesce", stack: [.coalesce()],
            reason: "the exchange outlives its caller, so it has its own task and context"),
        Row(name: "fallback", stack: [.fallback(status: .ok)]),
        Row(name: "switched-off", stack: [.switched(by: Switch(share: 0), [.retry()])]),
        Row(name: "switched-on", stack: [.switched(by: Switch(), [Pass()])]),
        Row(name: "chaos-off", stack: [.chaos(.droppedBody)]),
        Row(name: "propagateDeadline-idle", stack: [.propagateDeadline()]),
        Row(
            name: "propagateDeadline", stack: [.deadline(), .propagateDeadline()],
            reason: "includes that of the deadline; the remaining time is written"),
        Row(
            name: "concurrencyLimit-latency", stack: [.concurrencyLimit(adaptive: .latency)]),
        Row(name: "canary-idle", stack: [.canary(of: "http://other.com/", groups: groups)]),
        Row(
            name: "canary", stack: [.canary(of: "http://example.com/", groups: groups)],
            reason: "the URL is written and parsed anew"),
        Row(name: "mirror-idle", stack: [.mirror(of: "http://other.com/", to: "http://b.com/")]),
        endpoints(1), endpoints(10), endpoints(1000),
        endpoints(10, .peakEWMA, name: "-peakEWMA"),
        endpoints(1000, .peakEWMA, name: "-peakEWMA"),
        endpoints(1000, .roundRobin, name: "-roundRobin"),
        endpoints(1000, .weighted, name: "-weighted"),
        endpoints(10, .hash(of: "X-User"), name: "-hash"),
        endpoints(1000, .hash(of: "X-User"), name: "-hash"),
    ]

    private static let groups = ["http://a.example.com/": 95.0, "http://b.example.com/": 5]

    private struct Pass: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            try await next(request)
        }
    }

    // Runs the rows of the named gates, or all rows if no gate is named.
    static func run(_ report: Report, only: Set<String>) async throws {
        let content = Data(repeating: 0x61, count: 1024)
        let chosen = only.isEmpty ? rows : rows.filter { only.contains($0.name) }
        let pass = Row(name: "pass", stack: [Pass()])
        // After a row with its own request comes a pass-through of that request.
        let all =
            [pass]
            + chosen.flatMap { row in
                row.request.map { [row, Row(name: "pass", stack: [Pass()], request: $0)] } ?? [row]
            }
        let clients = all.map { row -> Client in
            let transport = MockTransport(recordLimit: 0) { request in
                guard let challenge = row.challenge, !request.headers.contains(.authorization)
                else { return .status(200, body: content) }
                return .status(401, headers: ["WWW-Authenticate": challenge])
            }
            return Client(transport: transport, stack: row.stack)
        }
        let usual = Request(.get, "http://example.com/users/1")
        var times = all.map { _ in [Double]() }
        var mallocs = all.map { _ in 0.0 }
        for round in 0..<21 {
            for (index, client) in clients.enumerated() {
                let (nanoseconds, count) = try await measure(
                    client, all[index].request ?? usual, calls: 2000)
                if round > 0 { times[index].append(nanoseconds) }
                mallocs[index] = count
            }
        }
        for (index, row) in all.enumerated() where index == 0 || row.name != pass.name {
            let time = median(times[index])
            let plain = row.request == nil ? 0 : index + 1
            let added = (time - median(times[plain])).rounded()
            var fields: [(String, Report.Value)] = [
                ("bench", "gates"), ("gate", .text(row.name)), ("ns", .number(time.rounded())),
                ("added", .number(added)),
                ("mallocs", .number(((mallocs[index] - mallocs[plain]) * 10).rounded() / 10)),
            ]
            // A gate may cost one microsecond. If it costs more, it needs a reason.
            if let reason = row.reason ?? (added > 1000 ? "no reason: fix it" : nil) {
                fields.append(("because", .text(reason)))
            }
            report.line(fields)
        }
    }

    private static func measure(
        _ client: Client, _ request: Request, calls: Int
    ) async throws -> (nanoseconds: Double, mallocs: Double) {
        let clock = ContinuousClock()
        let before = malloc_count()
        let start = clock.now
        for _ in 0..<calls {
            let response = try await client.request(request).response()
            _ = try await response.body.collect(upTo: 4096)
        }
        let time = clock.now - start
        let count = malloc_count() - before
        return (Double(time / .nanoseconds(1)) / Double(calls), Double(count) / Double(calls))
    }
}
