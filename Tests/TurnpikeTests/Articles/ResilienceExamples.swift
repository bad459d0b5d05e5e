import Foundation
import Testing
import Turnpike

@Suite("Resilience")
struct ResilienceExamples {
    @Test("A stack has its gates in this order")
    func order() {
        let budget = RetryBudget()
        let client = Client(
            baseURL: "https://api.example.com/",
            stack: [
                .fallback(status: .ok, body: Data("[]".utf8)),  // outside all that it covers
                .deadline(.seconds(5)),  // queues, back-off, attempts and body
                .validate(), .redirect(),  // each hop passes all that follows
                .coalesce(),  // before anything is counted or queued
                .retry(budget: budget),
                .hedge(budget: budget),  // inside the retry: an attempt may be doubled
                .circuitBreaker(),  // sees attempts: ends the retries of a call too
                .rateLimit(perSecond: 50),  // what the server sees
                .concurrencyLimit(),  // the permit is free during a back-off
                .attemptTimeout(.seconds(2)),  // makes a server that hangs a failure
            ])
        #expect(client.fault == nil)
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
}
