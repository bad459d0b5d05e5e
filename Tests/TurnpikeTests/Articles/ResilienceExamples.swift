// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeEndpoints
import TurnpikeInspection
import TurnpikeTraffic

@Suite("Resilience")
struct ResilienceExamples {
    @Test("A stack has its gates in this order")
    func order() {
        let transport = MockTransport([])
        let budget = RetryBudget()
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .fallback(status: .ok, body: Data("[]".utf8)),  // outside all that it covers
                .deadline(.seconds(5)),  // queues, back-off, attempts and body
                .validate(), .redirect(),  // each hop passes all that follows
                .coalesce(),  // before anything is counted or queued
                .retry(budget: budget),
                .hedge(budget: budget),  // inside the retry: an attempt may be doubled
                .admissionControl(),  // sends the share that the server can serve
                .circuitBreaker(),  // sees attempts: ends the retries of a call too
                .rateLimit(perSecond: 50),  // what the server sees
                .concurrencyLimit(),  // the permit is free during a back-off
                .attemptTimeout(.seconds(2)),  // makes a server that hangs a failure
                .idleTimeout(), .limits(),
                // Here, next to the transport, for a service with several replicas.
                .endpoints(for: "api.example.com", from: .list(["10.0.0.7:443"])),
            ])
        #expect(client.fault == nil)
        #expect(client.stack.lint(for: transport).isEmpty)
    }

    @Test(
        "A POST is sent again after a 429, or a 503 with Retry-After, and a GET as ever",
        arguments: [
            (HTTPMethod.post, 429, [:], 3), (.post, 503, ["Retry-After": "0"], 3),
            (.post, 503, [:], 1), (.post, 500, ["Retry-After": "0"], 1), (.post, 502, [:], 1),
            (.get, 500, [:], 3), (.get, 503, [:], 3), (.patch, 429, [:], 1),
        ] as [(HTTPMethod, HTTPStatus, HTTPHeaders, Int)])
    func whenBusy(
        method: HTTPMethod, status: HTTPStatus, headers: HTTPHeaders, sends: Int
    ) async throws {
        let whenBusy = RetryPolicy(statuses: [429], codes: [], methods: [.post])
            .deciding { $0.status == 503 && $0.head?.headers[.retryAfter] != nil ? true : nil }
        let policy = RetryPolicy.standard.or(whenBusy)
        let transport = MockTransport { _ in .status(status, headers: headers) }
        let client = Client(
            baseURL: "http://a.example/", transport: transport,
            stack: [.retry(policy: policy, backoff: .constant(.zero))])
        #expect(try await client.request(method, "orders").response().status == status)
        #expect(transport.sentCount == sends)
    }

    @Test("A server says how much is left, and how long to wait")
    func limits() async throws {
        let transport = MockTransport([
            .any(.ok(text: "x", headers: ["RateLimit": "\"minute\";r=0;t=30"]))
        ])
        let client = Client(baseURL: "http://a.example/", transport: transport, stack: [])
        let response = try await client.get("search").response()
        let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
        let longest = used.compactMap(\.effectiveWindow).max()
        let wait = response.headers.retryAfter(at: Date()) ?? longest
        #expect(wait == .seconds(30))
    }

    @Test("A call says how much it matters to a server with too many calls")
    func overload() async throws {
        let client = Client(
            baseURL: "https://api.example.com/",
            stack: [
                .deadline(.seconds(10)), .validate(), .retry(),
                .admissionControl(),
                .attemptTimeout(.seconds(1)),
            ])
        #expect(client.fault == nil)
        try await Self.feed(
            Client(
                baseURL: "http://a.example/",
                transport: MockTransport([.any(.ok(text: "x"))]), stack: [.admissionControl()]))
    }

    @Test("Tenants that wait take turns")
    func turns() {
        let limit = ConcurrencyLimit(queue: 50).takingTurns { $0.headers["X-Tenant"] }
        #expect(limit.facts(for: nil)?.summary.contains("callers take turns") == true)
    }

    private static func feed(_ client: Client) async throws {
        let feed = try await client.get("feed").criticality(.sheddable).data()
        #expect(feed == Data("x".utf8))
    }
}
