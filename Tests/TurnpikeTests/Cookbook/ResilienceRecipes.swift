// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCache
import TurnpikeEndpoints
import TurnpikeTraffic

// The code of the page "Cookbook: resilience"; a test compares them.

func charge(_ order: Order, _ client: Client) async throws -> JSONValue {
    try await client.post(
        "charges", json: order, headers: [.idempotencyKey: "order-\(order.id)-charge"]
    )
    .deadline(.seconds(20)).attemptTimeout(.seconds(8)).json()
}

func makeReadClient(_ transport: any Transport) -> Client {
    let budget = RetryBudget()  // retries and hedges together
    return Client(
        baseURL: "https://search.example.com/", transport: transport,
        stack: [
            .deadline(.seconds(2)), .validate(), .redirect(), .retry(budget: budget),
            .hedge(after: .percentile(0.95, initially: .milliseconds(200)), budget: budget),
            .attemptTimeout(.seconds(1)), .idleTimeout(.seconds(1)), .limits(),
        ])
}

enum TenantOption: RequestOptionKey {
    typealias Value = String
}

final class TenantRateLimit: Interceptor {
    private let perSecond: Double
    private let limits = Mutex<[String: RateLimit]>([:])

    init(perSecond: Double) { self.perSecond = perSecond }

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let tenant = request.options[TenantOption.self] ?? ""
        let limit = limits.withLock { limits in
            if let limit = limits[tenant] { return limit }
            if limits.count >= 10_000 { limits.removeAll() }  // tenants come and go
            let limit = RateLimit(perSecond: perSecond, burst: 5, queue: 100, scope: .all)
            limits[tenant] = limit
            return limit
        }
        return try await limit.intercept(request, context: context, next: next)
    }
}

func makeOfflineClient(_ directory: String, _ transport: any Transport) -> Client {
    var options = Cache.Options()
    options.staleIfError = .seconds(86_400)
    options.staleIfUnreachable = .seconds(86_400)
    let store = TieredStore(MemoryStore(), DiskStore(directory: directory))
    return Client(
        baseURL: "https://rates.example.com/", transport: transport,
        stack: [
            .deadline(.seconds(5)), .validate(), .redirect(),
            .cache(store, partition: "rates", options: options), .retry(), .circuitBreaker(),
            .attemptTimeout(.seconds(2)), .idleTimeout(), .limits(),
        ])
}

func makeSuggestionClient(_ transport: any Transport) -> Client {
    Client(
        baseURL: "https://suggest.example.com/", transport: transport,
        stack: [
            .fallback(
                status: .ok, headers: [.contentType: "application/json"], body: Data("[]".utf8)),
            .deadline(.milliseconds(800)), .validate(), .redirect(), .retry(attempts: 2),
            .circuitBreaker(failureRatio: 0.5, minimum: 20),
            .concurrencyLimit(total: 32, queue: 0), .attemptTimeout(.milliseconds(500)),
            .idleTimeout(.milliseconds(500)), .limits(),
        ])
}

func makeUsersClient(
    from replicas: any EndpointResolver, _ transport: any Transport
) -> Client {
    Client(
        baseURL: "https://users.internal/", transport: transport,
        stack: [
            .deadline(.seconds(5)), .validate(), .redirect(), .retry(attempts: 3),
            .attemptTimeout(.seconds(1)), .idleTimeout(.seconds(1)), .limits(),
            .endpoints(for: "users.internal", from: replicas, zone: EndpointZone("eu-1a")),
        ])
}

func makeThumbnailClient(
    from caches: any EndpointResolver, _ transport: any Transport
) -> Client {
    Client(
        baseURL: "https://thumbs.internal/", transport: transport,
        stack: [
            .deadline(.seconds(3)), .validate(), .redirect(), .retry(attempts: 2),
            .attemptTimeout(.seconds(1)), .idleTimeout(.seconds(1)), .limits(),
            .endpoints(
                for: "thumbs.internal", from: caches, policy: .hash(of: { $0.url.path() })),
        ])
}

func overview(
    _ id: Int, _ client: Client, within limit: Duration
) async throws -> (order: Order, customer: JSONValue) {
    let clock = client.timeSource
    let end = clock.now.advanced(by: limit)
    func left() -> Duration { clock.now.duration(to: end) }
    let order = try await client.get("orders/\(id)").deadline(left()).decode(Order.self)
    let customer = try await client.get("orders/\(id)/customer").deadline(left()).json()
    return (order, customer)
}

final class SearchField: Sendable {
    private let client: Client
    private let running = Mutex<RunningCall<JSONValue>?>(nil)

    init(_ client: Client) { self.client = client }

    /// The results for a text; whoever waits for those of an earlier text gets `CancellationError`.
    func results(for text: String) async throws -> JSONValue {
        let call = client.get("search", query: ["q": .init(text)]).start(.json)
        let old = running.withLock { running in
            defer { running = call }
            return running
        }
        old?.cancel()
        return try await call.value
    }
}

func makePreviewClient(_ transport: any Transport) -> Client {
    Client(
        transport: transport,
        stack: [
            .deadline(.seconds(10)), .validate(), .redirect(limit: 3),
            .urlPolicy(schemes: ["https"], denyPrivate: .always), .attemptTimeout(.seconds(5)),
            .idleTimeout(.seconds(5), minBytesPerSecond: 1000),
            .limits(Limits.Bounds(body: 1_048_576)),
        ])
}

func preview(of url: String, _ client: Client) async throws -> String {
    let page = try await client.get(Target(url), headers: [.accept: "text/html"]).string()
    let title = page.firstMatch(of: #/<title>([^<]{1,200})</#)?.1
    return title.map(String.init) ?? url
}
