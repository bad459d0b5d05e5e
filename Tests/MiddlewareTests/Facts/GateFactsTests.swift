// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSharedState
import TurnpikeTraffic

/// What gates state of themselves, as they are configured and for a request.
@Suite struct GateFactsTests {
    private let get = Request(.get, "https://api.example.com/users/1")

    private func effects(_ gate: some Gate, _ request: Request? = nil) -> [GateEffect] {
        gate.facts(for: request)?.effects ?? []
    }

    // MARK: Retry

    @Test func `a retry's waits are the longest that a server may ask for`() {
        let gate: Retry = .retry(attempts: 3, maxRetryAfter: .seconds(60))
        #expect(
            effects(gate).first
                == .retries(attempts: 3, waits: .seconds(120), repeatsUnsafe: false))
    }

    @Test func `a retry that heeds no server waits its back-off at the highest jitter`() {
        let gate: Retry = .retry(
            attempts: 4,
            backoff: Backoff(base: .seconds(1), throttledBase: .seconds(2), max: .seconds(5)),
            maxRetryAfter: .zero)
        // 2, 4 and 5 seconds.
        #expect(
            effects(gate).first == .retries(attempts: 4, waits: .seconds(11), repeatsUnsafe: false))
    }

    @Test func `decorrelated waits grow with the waits before them`() {
        let gate: Retry = .retry(
            attempts: 4,
            backoff: Backoff(base: .seconds(1), max: .seconds(20), jitter: .decorrelated),
            maxRetryAfter: .zero)
        // 3, 9 and 20 seconds.
        #expect(
            effects(gate).first == .retries(attempts: 4, waits: .seconds(32), repeatsUnsafe: false))
    }

    @Test func `Retry-After does not count where no status is retried`() {
        let gate: Retry = .retry(
            attempts: 2, policy: RetryPolicy(statuses: []), backoff: .constant(.seconds(3)))
        #expect(
            effects(gate).first == .retries(attempts: 2, waits: .seconds(3), repeatsUnsafe: false))
    }

    @Test func `a retry without measure waits without bound`() {
        let gate: Retry = .retry(attempts: .max)
        #expect(
            effects(gate).first == .retries(attempts: .max, waits: nil, repeatsUnsafe: false))
    }

    @Test func `a retry reads the content that it keeps`() {
        #expect(effects(.retry(maxKeptBytes: 10)).last == .readsContent(upTo: 10))
        #expect(effects(.retry(maxKeptBytes: 0)).count == 1)
        var streaming = get
        streaming.options.isStreaming = true
        #expect(effects(Retry(), streaming).count == 1)
        let post = Request(.post, "https://api.example.com/users")
        #expect(effects(Retry(), post).count == 1)
    }

    @Test func `one attempt is no retry`() {
        #expect(Retry(attempts: 1).facts(for: nil)?.kinds == [])
        #expect(Retry(attempts: 1).facts(for: nil)?.passedOver == nil)
        #expect(Retry(attempts: 1).facts(for: get)?.passedOver == "it makes one attempt")
    }

    @Test func `what may be repeated depends on policy, method and the call`() {
        func isUnsafe(_ gate: Retry, _ request: Request?) -> Bool? {
            guard case .retries(_, _, let isUnsafe) = effects(gate, request).first else {
                return nil
            }
            return isUnsafe
        }
        var post = Request(.post, "https://api.example.com/users")
        #expect(isUnsafe(Retry(), nil) == false)
        #expect(isUnsafe(Retry(), post) == false)
        post.options.isRetryable = true
        #expect(isUnsafe(Retry(), post) == true)
        post.headers[.idempotencyKey] = "1"
        #expect(isUnsafe(Retry(), post) == false)
        let posting = RetryPolicy.standard.or(RetryPolicy(methods: [.post]))
        #expect(isUnsafe(Retry(policy: posting), nil) == true)
        #expect(isUnsafe(Retry(policy: posting), get) == false)
    }

    @Test func `a call that may not be repeated is passed over`() {
        var request = get
        request.options.isRetryable = false
        #expect(
            Retry().facts(for: request)?.passedOver == "the call is marked as not retryable")
        #expect(Hedge().facts(for: request)?.passedOver == "the call is marked as not retryable")
    }

    // MARK: Other sends

    @Test func `a hedge sends copies after a time that is fixed or learned`() {
        #expect(
            effects(Hedge(after: .milliseconds(80), attempts: 3))
                == [.hedges(copies: 2, after: .milliseconds(80))])
        #expect(effects(Hedge()) == [.hedges(copies: 1, after: nil)])
        let post = Request(.post, "https://api.example.com/users")
        #expect(Hedge().facts(for: post)?.passedOver == "POST may have an effect each time")
        #expect(Hedge().facts(for: get)?.passedOver == nil)
    }

    @Test func `redirects, refusals and challenges`() {
        #expect(effects(Redirect(limit: 4)) == [.redirects(hops: 4)])
        #expect(effects(Redirect(limit: 0)) == [])
        #expect(
            effects(Redirect { _ in .follow }).contains(
                .waits(atMost: nil, reason: "its handler's decision")))
        let digest = DigestAuthentication(user: "u", password: "p", origins: ["https://a.test"])
        #expect(effects(digest).contains(.replays(times: 2)))
        #expect(digest.facts(for: get)?.passedOver == "the credential is not for this origin")
    }

    @Test func `a bearer gate waits only if it can replace its token`() {
        let fixed: BearerAuthentication = .bearer(token: "t")
        #expect(effects(fixed) == [.setsFields([.authorization], .secret(isBound: true))])
        let tokens = BearerTokens(
            provider: NoTokens(), policy: RefreshPolicy(timeLimit: .seconds(7)))
        let gate: BearerAuthentication = .bearer(tokens)
        #expect(
            effects(gate) == [
                .setsFields([.authorization], .secret(isBound: true)), .replays(times: 1),
                .waits(atMost: .seconds(7), reason: "a token"),
            ])
        #expect(gate.facts(for: nil)?.kinds == [.authentication])
        var own = get
        own.headers[.authorization] = "mine"
        #expect(
            gate.facts(for: own)?.passedOver == "the request already has an Authorization field")
    }

    // MARK: Time and load

    @Test func `a call's own limits replace those of the gate`() {
        let call = Client(transport: MockTransport([]), stack: [], serializers: SerializerTable())
            .request(.get, "https://api.example.com/").deadline(.seconds(90))
            .attemptTimeout(.seconds(8))
        let request = call.request
        #expect(effects(Deadline(), request) == [.limitsTime(.seconds(90), .body)])
        #expect(effects(AttemptTimeout(), request) == [.limitsTime(.seconds(8), .head)])
        #expect(effects(Deadline()) == [.limitsTime(.seconds(30), .body)])
        #expect(effects(IdleTimeout(.seconds(4))) == [.limitsTime(.seconds(4), .silence)])
        let streaming = call.streaming().request
        #expect(effects(Deadline(), streaming) == [.limitsTime(.seconds(90), .head)])
        #expect(IdleTimeout().facts(for: streaming)?.passedOver == "the call streams")
    }

    @Test func `limits wait for as long as their line is`() {
        #expect(
            effects(RateLimit(perSecond: 50, queue: 100)) == [
                .limitsRate(1, per: .milliseconds(20)), .answers(.refusal),
                .waits(atMost: .seconds(40), reason: "its turn"),
            ])
        #expect(effects(RateLimit(perSecond: 50, queue: 0)).count == 2)
        // Others may overtake a call 19 times for each turn, but not one of the highest class.
        var critical = get
        critical.options.criticality = .critical
        let limit = RateLimit(perSecond: 50, queue: 100)
        let alone = GateEffect.waits(atMost: .seconds(2), reason: "its turn")
        #expect(effects(limit, critical).last == alone)
        #expect(effects(limit.takingTurns { _ in "a" }, critical).last != alone)
        let shared = SharedState(MemorySharedStore(), timeLimit: .milliseconds(30))
        let store = GateEffect.sharesState(.counts, isHidden: true, atMost: .milliseconds(30))
        #expect(
            effects(SharedRateLimit(perSecond: 50, queue: 100, shared: shared)).suffix(2) == [
                store, .waits(atMost: .seconds(300), reason: "the end of a cool-down"),
            ])
        #expect(effects(Retry(cooldowns: shared.cooldowns)).contains(store))
        #expect(
            RateLimit([QuotaRule(10, per: .seconds(1)), QuotaRule(1, per: .seconds(60))])
                .facts(for: nil)?.summary.contains(
                    "by 2 rules: one every 100 ms and one every 60 s") == true)
        #expect(
            effects(ConcurrencyLimit(total: 9, perOrigin: 4)) == [
                .limitsConcurrency(4), .answers(.refusal),
                .waits(atMost: nil, reason: "a permit"),
            ])
        #expect(effects(ConcurrencyLimit(queue: 0)).count == 2)
    }

    @Test func `limits on content`() {
        #expect(
            effects(Limits()) == [.limitsContent(104_857_600), .limitsDecoding(ratio: 100)])
        #expect(
            effects(Limits(.init(body: 10, ratio: 5))) == [
                .limitsContent(10), .limitsDecoding(ratio: 5),
            ])
    }

    // MARK: Requests and groups

    @Test func `fields with secrets are told apart, and whether origins bound them`() {
        let open = SetHeaders(["X-Tenant": "blue", "X-Api-Key": "k"])
        #expect(
            effects(open) == [
                .setsFields(["X-Tenant"], .plain),
                .setsFields(["X-Api-Key"], .secret(isBound: false)),
            ])
        let bound = SetHeaders(["X-Api-Key": "k"], origins: ["https://other.example"])
        #expect(effects(bound) == [.setsFields(["X-Api-Key"], .secret(isBound: true))])
        #expect(bound.facts(for: get)?.passedOver == "the gate sets no field for this origin")
        #expect(
            DefaultHeaders(["Accept-Language": "en"]).facts(for: get)?.passedOver == nil)
    }

    @Test func `a group applies as its condition says`() {
        let gate = When({ $0.method == .post }, then: [.retry()])
        #expect(effects(gate) == [.selects(byOrigin: false)])
        #expect(gate.facts(for: get)?.passedOver == "the request does not meet its condition")
        #expect(gate.facts(for: Request(.post, "https://a.test/"))?.passedOver == nil)
        let only = Only(for: [Origin(scheme: "https", host: "api.example.com", port: 443)], [])
        #expect(only.facts(for: get)?.passedOver == nil)
        #expect(only.facts(for: Request(.get, "https://b.test/"))?.passedOver != nil)
    }

    @Test func `compression holds about as much as the content`() {
        let content = Data(repeating: 0x61, count: 10_000)
        let request = Request(.post, "https://a.test/", body: .data(content, type: nil))
        #expect(effects(CompressBodies(), request).contains(.holdsMemory(atMost: 11_034)))
        #expect(CompressBodies().facts(for: get)?.passedOver == "the request has no content")
    }

    @Test func `kinds follow from effects`() {
        let kinds: [(any Gate, Set<GateKind>)] = [
            (Retry(), [.retry]), (Hedge(), [.hedge]), (Redirect(), [.redirect]),
            (Coalesce(), [.coalesce]), (Deadline(), [.deadline]),
            (AttemptTimeout(), [.attemptTimeout]), (ConcurrencyLimit(), [.concurrencyLimit]),
            (RateLimit(perSecond: 1), [.rateLimit]), (CircuitBreaker(), [.circuitBreaker]),
            (Validate(), [.validation]), (Cookies(), [.cookies]),
            (Log(to: MemoryLogSink()), [.log]), (Metrics(MetricsStore()), [.metrics]),
            (BasicAuthentication(user: "u", password: "p"), [.authentication]),
        ]
        for (gate, expected) in kinds {
            #expect(gate.facts(for: nil)?.kinds == expected, "\(gate.gateName)")
        }
    }

    @Test func `every gate states facts, with a summary that ends no sentence`() {
        let gates: [any Gate] = [
            BaseURL("https://a.test/"), UserAgent("a/1"), IdempotencyKey(), RequestID(),
            TraceContext(), HSTS(), URLPolicy(), Fallback(status: .ok), Group([]),
            DefaultHeaders(["A": "b"]), CompressBodies(),
        ]
        for gate in gates {
            let summary = gate.facts(for: nil)?.summary ?? "."
            #expect(!summary.hasSuffix("."), "\(gate.gateName)")
            #expect(gate.facts(for: nil)?.passedOver == nil, "\(gate.gateName)")
        }
    }
}

private struct NoTokens: BearerTokenProvider {
    func token(replacing old: BearerToken?, by exchange: TokenExchange) async throws -> BearerToken
    {
        throw CancellationError()
    }
}
