// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCache
import TurnpikeCore
import TurnpikeTraffic

/// A stack with one mistake, and the nearest stack without it.
struct LintCase: Sendable, CustomStringConvertible {
    let rule: String
    let wrong: Stack
    let right: Stack
    /// The base URL of a client with either of them.
    let baseURL: Target?
    /// What the story of the wrong stack must tell.
    let figures: [String]

    init(
        _ rule: String, _ wrong: Stack, _ right: Stack, baseURL: Target? = nil, _ figures: String...
    ) {
        self.baseURL = baseURL
        self.rule = rule
        self.wrong = wrong
        self.right = right
        self.figures = figures
    }

    var description: String { rule }
}

/// A gate of a user's that does nothing, and states something.
struct Stated: Interceptor {
    var gateName = "Stated"
    var stated: GateFacts?

    init(_ name: String = "Stated", _ effects: GateEffect..., order: [GateOrder] = []) {
        self.gateName = name
        var facts = GateFacts("does something", order: order)
        facts.effects = effects
        stated = facts
    }

    init(unknown name: String) { self.gateName = name }

    func facts(for request: Request?) -> GateFacts? { stated }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await next(request)
    }
}

extension LintCase {
    static let all =
        time + sends + endpoints + sharing + caching + redirects + requests + observation
        + statements

    static let time: [LintCase] = [
        LintCase(
            "deadline-inside-retry",
            [.retry(attempts: 3, maxRetryAfter: .milliseconds(1500)), .deadline(.seconds(30))],
            [.deadline(.seconds(30)), .retry(attempts: 3)],
            "may take 93.5 s although the deadline says 30 s"),
        LintCase(
            "deadline-inside-redirect", [.redirect(limit: 4), .deadline(.seconds(10))],
            [.deadline(.seconds(10)), .redirect(limit: 4)],
            "may take 50 s although the deadline says 10 s", "each of 5 hops"),
        LintCase(
            "deadline-inside-wait", [.rateLimit(perSecond: 10, queue: 50), .deadline(.seconds(2))],
            [.deadline(.seconds(2)), .rateLimit(perSecond: 10, queue: 50)],
            "waits up to 100 s for its turn before its deadline of 2 s begins"),
        LintCase(
            "deadline-missing", [.retry(), .redirect()], [.deadline(), .retry(), .redirect()],
            "Retry, Redirect"),
        LintCase(
            "attempt-timeout-outside-retry", [.attemptTimeout(.seconds(5)), .retry(attempts: 4)],
            [.retry(attempts: 4), .attemptTimeout(.seconds(5))], "after 5 s", "none of the 4"),
        LintCase(
            "attempt-timeout-outside-hedge",
            [.attemptTimeout(.seconds(5)), .hedge(after: .seconds(1))],
            [.hedge(after: .seconds(1)), .attemptTimeout(.seconds(5))], "have 5 s together"),
        LintCase(
            "attempt-timeout-outside-wait", [.attemptTimeout(.seconds(2)), .concurrencyLimit()],
            [.concurrencyLimit(), .attemptTimeout(.seconds(2))], "a permit counts toward the 2 s"),
        LintCase(
            "attempt-timeout-beyond-deadline",
            [.deadline(.seconds(5)), .retry(), .attemptTimeout(.seconds(10))],
            [.deadline(.seconds(5)), .retry(), .attemptTimeout(.seconds(2))],
            "deadline of 5 s", "attempt timeout of 10 s"),
    ]

    static let sends: [LintCase] = [
        LintCase(
            "breaker-outside-retry", [.circuitBreaker(), .retry(attempts: 5)],
            [.retry(attempts: 5), .circuitBreaker()], "gets 5 requests for each call"),
        LintCase(
            "breaker-without-attempt-timeout", [.attemptTimeout(), .circuitBreaker()],
            [.circuitBreaker(), .attemptTimeout()], "a server that hangs"),
        LintCase(
            "rate-limit-outside-retry", [.rateLimit(perSecond: 10), .retry(attempts: 3)],
            [.retry(attempts: 3), .rateLimit(perSecond: 10)],
            "gets 3 requests every 100 ms although the limit says 1"),
        LintCase(
            "rate-limit-outside-retry",
            [.rateLimit(perSecond: 2), .retry(attempts: 2), .retry(attempts: 3)],
            [.rateLimit(perSecond: 2), .retry(attempts: 2), .rateLimit(perSecond: 10)],
            "gets 6 requests every 500 ms"),
        LintCase(
            "concurrency-limit-outside-retry",
            [.concurrencyLimit(), .retry(attempts: 3, maxRetryAfter: .seconds(20))],
            [.retry(attempts: 3, maxRetryAfter: .seconds(20)), .concurrencyLimit()],
            "keeps its permit for up to 40 s in which it sends nothing"),
        LintCase(
            "hedge-outside-retry", [.hedge(attempts: 2), .retry(attempts: 3)],
            [.retry(attempts: 3), .hedge(attempts: 2)], "may be sent 6 times"),
        LintCase(
            "hedge-inside-concurrency-limit",
            [.concurrencyLimit(total: 8, perOrigin: 4), .hedge(attempts: 3)],
            [.hedge(attempts: 3), .concurrencyLimit(total: 8, perOrigin: 4)],
            "12 requests at once although the limit says 4"),
        LintCase(
            "hedge-inside-rate-limit", [.rateLimit(perSecond: 20), .hedge(attempts: 3)],
            [.hedge(attempts: 3), .rateLimit(perSecond: 20)],
            "gets 3 requests every 50 ms although the limit says 1"),
        LintCase(
            "hedge-inside-rate-limit", [.rateLimit(perSecond: 20), .hedge(attempts: 3)],
            [.rateLimit(perSecond: 20), .hedge(attempts: 3), .rateLimit(perSecond: 20)]),
        LintCase(
            "hedge-never", [.hedge(after: .seconds(5)), .attemptTimeout(.seconds(5))],
            [.hedge(after: .seconds(4)), .attemptTimeout(.seconds(5))], "waits 5 s"),
        LintCase(
            "two-retries", [.retry(attempts: 2), .retry(attempts: 3)], [.retry(attempts: 3)],
            "may be sent 6 times"),
        LintCase(
            "sends-beyond-limit", [.retry(attempts: 5), .hedge(attempts: 3)],
            [.retry(attempts: 4), .hedge(attempts: 3)], "sent 15 times", "after 12", "Retry × Hedge"
        ),
        LintCase(
            "key-inside-retry", [.retry(attempts: 3), .idempotencyKey()],
            [.idempotencyKey(), .retry(attempts: 3)], "one attempt and not 3"),
        LintCase(
            "fixed-idempotency-key", [.setHeaders(["Idempotency-Key": "k"])], [.idempotencyKey()],
            "SetHeaders sets the same Idempotency-Key"),
        LintCase(
            "fixed-idempotency-key",
            [.idempotencyKey(header: "X-Key"), .defaultHeaders(["X-Key": "k"])],
            [.defaultHeaders(["X-Key": "k"])], "DefaultHeaders sets the same X-Key"),
        LintCase(
            "unsafe-retry-without-key",
            [.retry(attempts: 3, policy: RetryPolicy(methods: [.post]))],
            [.idempotencyKey(), .retry(attempts: 3, policy: RetryPolicy(methods: [.post]))],
            "may have its effect 3 times"),
        LintCase(
            "fallback-hides-failures", [.retry(), .fallback(status: .ok)],
            [.fallback(status: .ok), .retry()], "Retry never sees a failure"),
        LintCase(
            "fallback-inside-deadline", [.deadline(.seconds(3)), .fallback(status: .ok)],
            [.fallback(status: .ok), .deadline(.seconds(3))], "slower than 3 s"),
    ]

    static let caching: [LintCase] = [
        LintCase(
            "cache-inside-retry", [.retry(attempts: 3), .cache()], [.cache(), .retry(attempts: 3)],
            "none of the 2 further attempts"),
        LintCase(
            "rate-limit-above-cache", [.rateLimit(perSecond: 2), .cache()],
            [.cache(), .rateLimit(perSecond: 2)], "1 every 500 ms"),
        LintCase(
            "concurrency-limit-above-cache", [.concurrencyLimit(total: 5), .cache()],
            [.cache(), .concurrencyLimit(total: 5)], "5 slow calls"),
        LintCase(
            "rate-limit-inside-concurrency-limit",
            [.concurrencyLimit(total: 8), .rateLimit(perSecond: 10, queue: 50)],
            [.rateLimit(perSecond: 10, queue: 50), .concurrencyLimit(total: 8)],
            "while it waits for its turn, for up to 100 s", "8 such calls keep out all others"),
        LintCase(
            "rate-limit-inside-concurrency-limit",
            [.concurrencyLimit(), .rateLimit(perSecond: 10)],
            [.concurrencyLimit(), .rateLimit(perSecond: 10, queue: 0)]),
        LintCase(
            "limit-above-coalesce", [.concurrencyLimit(total: 5), .coalesce()],
            [.coalesce(), .concurrencyLimit(total: 5)], "hold all 5 permits"),
        LintCase(
            "identity-inside-sharing", [.coalesce(), UserToken()], [UserToken(), .coalesce()],
            "Coalesce sees requests before UserToken, which stands inside, adds Authorization"),
        LintCase(
            "cookies-inside-cache", [.cache(), .cookies()], [.cookies(), .cache()],
            "before Cookies adds"),
        // A cache that is told who asks need not see it.
        LintCase("cookies-inside-cache", [.cache(), .cookies()], [tenantCache, .cookies()]),
        LintCase("identity-inside-sharing", [.cache(), UserToken()], [tenantCache, UserToken()]),
    ]

    private static var tenantCache: Cache {
        var options = Cache.Options()
        options.tenant = { _, _ in "ada" }
        return Cache(options: options)
    }

    static let observation: [LintCase] = [
        LintCase(
            "log-blind", [.circuitBreaker(), .log(to: MemoryLogSink())],
            [.log(to: MemoryLogSink()), .circuitBreaker()],
            "calls that CircuitBreaker refuses leave no line"),
        LintCase(
            "log-blind", [.cache(), .log(to: MemoryLogSink())],
            [.log(to: MemoryLogSink()), .cache(), .log(to: MemoryLogSink())],
            "calls that Cache answers by itself"),
        LintCase(
            "content-in-logs", [.log(to: MemoryLogSink(), peekBytes: 2048)],
            [.log(to: MemoryLogSink())], "up to 2 KiB"),
        LintCase(
            "unbounded-labels", [Stated("Counts", .measures(hasBoundedLabels: false))],
            [Stated("Counts", .measures(hasBoundedLabels: true))], "Counts makes a new series"),
    ]
}

/// Sets the token of the user for whom a task works.
private struct UserToken: SynchronousRequestAdapter {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "sets the user's token",
            .setsFields([.authorization], .secret(isBound: true, variesByCall: true)))
    }

    func adapt(_ request: inout Request, context: Context) {}
}
