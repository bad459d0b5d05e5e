// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeInspection
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

private struct OneAddress: HostResolver {
    func addresses(of name: String, context: Context) async throws -> [IPAddress] {
        [IPAddress(v4: 0x7F00_0001)]
    }
}

private struct ListOf: EndpointResolver {
    let freshFor: Duration
    func endpoints(in context: Context) async throws -> EndpointList {
        EndpointList([Endpoint("a.example", port: 80)], freshFor: freshFor)
    }
}

private struct Tokens: BearerTokenProvider {
    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken { BearerToken("t", expires: .distantFuture) }
}

private func changed<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
    var value = value
    change(&value)
    return value
}

private func endpoints(
    _ list: [Endpoint] = [Endpoint("h", port: 1), Endpoint("i", port: 1)],
    zone: EndpointZone? = nil, subset: EndpointSubset? = nil,
    policy: BalancingPolicy = .leastRequests, health: EndpointHealth = EndpointHealth()
) -> any Gate {
    Endpoints(
        for: "a.example", from: FixedEndpoints(list), policy: policy, zone: zone, subset: subset,
        health: health)
}

private func mirror(
    limit: Int = 1, maxBytes: Int = 1, timeLimit: Duration = .seconds(1)
) -> any Gate {
    MirrorRequests(
        of: "http://a.example/", to: "http://b.example/", limit: limit, maxBytes: maxBytes,
        timeLimit: timeLimit)
}

private func healthy(_ change: (inout EndpointHealth) -> Void) -> any Gate {
    endpoints(health: changed(EndpointHealth(), change))
}

private func checked(_ change: (inout EndpointHealthCheck) -> Void) -> any Gate {
    endpoints(health: EndpointHealth(check: changed(EndpointHealthCheck(path: "/"), change)))
}

private func limits(_ change: (inout Limits.Bounds) -> Void) -> any Gate {
    Limits(changed(Limits.Bounds(), change))
}

private func bearer(_ change: (inout RefreshPolicy) -> Void) -> any Gate {
    BearerAuthentication(
        BearerTokens(
            BearerToken("old", expires: Date(timeIntervalSince1970: 1_700_000_010)),
            provider: Tokens(), policy: changed(RefreshPolicy.standard, change)),
        origins: ["http://a.example", "http://b.example"])
}

private func asked(
    rules: [QuotaRule] = [QuotaRule(10, per: .seconds(1))], minimum: Int = 1, maximum: Int = 1,
    reach: Duration = .zero, in simulation: Simulation
) async {
    let store = MemorySharedStore(timeSource: simulation.clock)
    for _ in 0..<3 {
        _ = await store.take(
            QuotaRequest(
                key: "k", rules: rules, minimum: minimum, maximum: maximum, reach: reach))
    }
    await store.lower(to: 0.5, of: "k", rule: 0, rules: rules)
    await store.giveBack(1, to: "k", rules: rules)
    _ = store.permitsLeft(of: "k", rules: rules)
}

private let rule = QuotaRule(10, per: .seconds(1), burst: 5)

extension NumberRow {
    static let limiting: [NumberRow] = [
        .real("AdaptiveLimit.decrease") { ConcurrencyLimit(adaptive: AdaptiveLimit(decrease: $0)) },
        .whole("AdaptiveLimit.initial") { ConcurrencyLimit(adaptive: AdaptiveLimit(initial: $0)) },
        .whole("AdaptiveLimit.min") { ConcurrencyLimit(adaptive: AdaptiveLimit(min: $0)) },
        .time("AdaptiveLimit.pause") { ConcurrencyLimit(adaptive: AdaptiveLimit(pause: $0)) },
        .real("AdmissionControl.threshold") { AdmissionControl(threshold: $0) },
        .time("AdmissionControl.recovery") { AdmissionControl(recovery: $0) },
        .real("AdmissionControl.slowness") { AdmissionControl(slowness: $0) },
        .real("Chaos.rate") { Chaos(.latency(.seconds(1)), rate: $0, switch: Switch()) },
        .real("CircuitBreaker.failureRatio") { CircuitBreaker(failureRatio: $0, minimum: 1) },
        .whole("CircuitBreaker.minimum") { CircuitBreaker(minimum: $0) },
        .time("CircuitBreaker.window") { CircuitBreaker(minimum: 1, window: $0) },
        .time("CircuitBreaker.open") { CircuitBreaker(failureRatio: 0.1, minimum: 1, open: $0) },
        .time("CircuitBreaker.maxOpen") { CircuitBreaker(minimum: 1, maxOpen: $0) },
        .whole("CircuitBreaker.probes") { CircuitBreaker(minimum: 1, probes: $0) },
        .whole("ConcurrencyLimit.total") { ConcurrencyLimit(total: $0) },
        .whole("ConcurrencyLimit.perOrigin") { ConcurrencyLimit(perOrigin: $0) },
        .whole("ConcurrencyLimit.queue") { ConcurrencyLimit(total: 1, queue: $0) },
        .time("Cooldowns.longest") { Retry(cooldowns: Cooldowns(longest: $0)) },
        .real("QuotaRule.permits") { RateLimit([QuotaRule($0, per: .seconds(1))]) },
        .time("QuotaRule.per") { RateLimit([QuotaRule(10, per: $0)]) },
        .real("QuotaRule.burst") { RateLimit([QuotaRule(10, per: .seconds(1), burst: $0)]) },
        .whole("QuotaRequest.minimum") { await asked(minimum: $0, maximum: 5, in: $1) },
        .whole("QuotaRequest.maximum") { await asked(maximum: $0, in: $1) },
        .time("QuotaRequest.reach") { await asked(reach: $0, in: $1) },
        .real("QuotaRule.permits") {
            await asked(rules: [QuotaRule($0, per: .seconds(1))], in: $1)
        },
        .time("QuotaRule.per") { await asked(rules: [QuotaRule(10, per: $0)], in: $1) },
        .real("QuotaRule.burst") {
            await asked(rules: [QuotaRule(10, per: .seconds(1), burst: $0)], in: $1)
        },
        .whole("QuotaGrant.permits") {
            _ = QuotaGrant(permits: $0, offsets: [.zero]); _ = $1
        },
        .whole("KeyedLimiter.queue") { RateLimit(perSecond: 1, queue: $0) },
        .whole("TokenBuckets.emptyAt") { value, _ in
            var buckets = TokenBuckets([rule], emptyAt: Int64(value))
            for _ in 0..<3 where buckets.take(1, at: 0) { buckets.correct(1, at: Int64(value)) }
        },
        .whole("SharedRateLimit.queue") {
            SharedRateLimit(perSecond: 1, queue: $0, shared: SharedState(MemorySharedStore()))
        },
        .real("SharedRateLimit.perSecond") {
            SharedRateLimit(perSecond: $0, shared: SharedState(MemorySharedStore()))
        },
        .whole("SharedRateLimit.burst") {
            SharedRateLimit(perSecond: 1, burst: $0, shared: SharedState(MemorySharedStore()))
        },
        .whole("RateLimit.queue") { RateLimit(perSecond: 1, queue: $0) },
        .real("RateLimit.perSecond") { RateLimit(perSecond: $0) },
        .whole("RateLimit.burst") { RateLimit(perSecond: 1, burst: $0) },
        .whole("RateLimit.cost") { cost in RateLimit([rule]).cost { _ in cost } },
        .whole("RateLimit.actualCost") { cost in RateLimit([rule]).actualCost { _ in cost } },
        .whole("RateLimit.actualCost.upTo") {
            RateLimit([rule]).actualCost(upTo: $0) { _, content in content.count }
        },
        .whole("RateLimit.charge") { permits, simulation in
            let limit = RateLimit([rule])
            let request = Request(.get, "http://a.example/")
            for _ in 0..<3 { limit.charge(permits, for: request, by: simulation.clock) }
            try await call([limit], simulation)
        },
        .whole("Redirect.limit") { Redirect(limit: $0) },
        .real("Switch.share") { Switched(by: Switch(share: $0), [.retry()]) },
        .time("SharedState.timeLimit") {
            SharedRateLimit([rule], shared: SharedState(MemorySharedStore(), timeLimit: $0))
        },
        .whole("SharedState.replicas") {
            SharedRateLimit([rule], shared: SharedState(MemorySharedStore(), replicas: $0))
        },
    ]

    static let timing: [NumberRow] = [
        .time("AttemptTimeout.limit") { AttemptTimeout($0) },
        .time("Deadline.limit") { Deadline($0) },
        .time("DeadlineOption.gate.for") { DeadlineOption.gate(for: $0) ?? Deadline() },
        .time("IdleTimeout.limit") { IdleTimeout($0) },
        .whole("IdleTimeout.minBytesPerSecond") { IdleTimeout(minBytesPerSecond: $0) },
        .time("IdleTimeout.window") { IdleTimeout(minBytesPerSecond: 10, window: $0) },
        .time("Backoff.base") { Retry(backoff: Backoff(base: $0)) },
        .time("Backoff.base") { Retry(attempts: 9, backoff: Backoff(base: $0, jitter: .none)) },
        .time("Backoff.throttledBase") {
            Retry(backoff: Backoff(base: .seconds(1), throttledBase: $0))
        },
        .time("Backoff.max") { Retry(backoff: Backoff(base: .seconds(1), max: $0)) },
        .time("Backoff.constant.wait") { Retry(backoff: .constant($0)) },
        .time("Hedge.after") { Hedge(after: $0) },
        .whole("Hedge.attempts") { Hedge(after: .milliseconds(1), attempts: $0) },
        .time("HedgeDelay.fixed.delay") { Hedge(after: .fixed($0)) },
        .real("HedgeDelay.percentile.part") { Hedge(after: .percentile($0)) },
        .time("HedgeDelay.percentile.atLeast") { Hedge(after: .percentile(atLeast: $0)) },
        .time("HedgeDelay.percentile.initially") { Hedge(after: .percentile(initially: $0)) },
        .whole("Retry.attempts") { Retry(attempts: $0) },
        .time("Retry.maxRetryAfter") { Retry(maxRetryAfter: $0) },
        .whole("Retry.maxKeptBytes") { Retry(maxKeptBytes: $0) },
        .real("RetryBudget.ratio") { Retry(budget: RetryBudget(ratio: $0)) },
        .time("RetryBudget.window") { Retry(budget: RetryBudget(window: $0)) },
        .time("RetryBudget.Accounts.window") {
            Retry(budget: RetryBudget(RetryBudget.Accounts(window: $0)))
        },
        .real("RetryBudget.floorPerSecond") { Retry(budget: RetryBudget(floorPerSecond: $0)) },
        .whole("RefreshPolicy.maxRefreshes") { value in bearer { $0.maxRefreshes = value } },
        .time("RefreshPolicy.window") { value in bearer { $0.window = value } },
        .time("RefreshPolicy.timeLimit") { value in bearer { $0.timeLimit = value } },
        .time("RefreshPolicy.leeway") { value in bearer { $0.leeway = value } },
    ]

    static let balancing: [NumberRow] = [
        .whole("MirrorRequests.limit") { mirror(limit: $0) },
        .whole("MirrorRequests.maxBytes") { mirror(maxBytes: $0) },
        .time("MirrorRequests.timeLimit") { mirror(timeLimit: $0) },
        .whole("DNSEndpoints.port") {
            Endpoints(
                for: "a.example", from: DNSEndpoints("b.example", port: $0, resolver: OneAddress()))
        },
        .time("DNSEndpoints.refresh") {
            Endpoints(
                for: "a.example",
                from: DNSEndpoints("b.example", port: 1, refresh: $0, resolver: OneAddress()))
        },
        .time("DNSEndpoints.limit") {
            Endpoints(
                for: "a.example",
                from: DNSEndpoints("b.example", port: 1, limit: $0, resolver: OneAddress()))
        },
        .whole("Endpoint.port") { endpoints([Endpoint("h", port: $0), Endpoint("i", port: 1)]) },
        .real("Endpoint.weight") {
            endpoints(
                [Endpoint("h", port: 1, weight: $0), Endpoint("i", port: 1)], policy: .weighted)
        },
        .real("Endpoint.weight") {
            endpoints([Endpoint("h", port: 1, weight: $0)], policy: .hash(of: "X"))
        },
        .time("EndpointFile.interval") {
            Endpoints(for: "a.example", from: EndpointFile("/none", interval: $0))
        },
        .whole("EndpointHealth.consecutiveFailures") { value in
            healthy { $0.consecutiveFailures = value }
        },
        .real("EndpointHealth.deviations") { value in
            healthy { ($0.deviations, $0.minimumRequests) = (value, 1) }
        },
        .time("EndpointHealth.ejection") { value in
            healthy { ($0.ejection, $0.consecutiveFailures) = (value, 1) }
        },
        .time("EndpointHealth.interval") { value in healthy { $0.interval = value } },
        .whole("EndpointHealth.minimumRequests") { value in
            healthy { $0.minimumRequests = value }
        },
        .time("EndpointHealth.maxEjection") { value in
            healthy { ($0.maxEjection, $0.consecutiveFailures) = (value, 1) }
        },
        .real("EndpointHealth.maxEjected") { value in
            healthy { ($0.maxEjected, $0.consecutiveFailures) = (value, 1) }
        },
        .real("EndpointHealth.panic") { value in
            healthy { ($0.panic, $0.consecutiveFailures) = (value, 1) }
        },
        .time("EndpointHealth.slowStart") { value in
            healthy { ($0.slowStart, $0.consecutiveFailures) = (value, 1) }
        },
        .whole("EndpointHealthCheck.healthyThreshold") { value in
            checked { $0.healthyThreshold = value }
        },
        .time("EndpointHealthCheck.interval") { value in checked { $0.interval = value } },
        .time("EndpointHealthCheck.timeout") { value in checked { $0.timeout = value } },
        .whole("EndpointHealthCheck.unhealthyThreshold") { value in
            checked { $0.unhealthyThreshold = value }
        },
        .time("EndpointList.freshFor") { Endpoints(for: "a.example", from: ListOf(freshFor: $0)) },
        .whole("EndpointSubset.size") { endpoints(subset: EndpointSubset(size: $0, of: 1)) },
        .whole("EndpointSubset.of") { endpoints(subset: EndpointSubset(size: 1, of: $0)) },
        .real("EndpointZone.spill") { endpoints(zone: EndpointZone("a", spill: $0)) },
        .whole("SystemHostResolver.width") { width, _ in _ = SystemHostResolver(width: width) },
        .time("SystemHostResolver.keeping") { time, _ in _ = SystemHostResolver(keeping: time) },
    ]

    static let observing: [NumberRow] = [
        .whole("Coalesce.maxBody") { Coalesce(maxBody: $0) },
        .whole("CompressBodies.level") { CompressBodies(level: $0, minimum: 0) },
        .whole("CompressBodies.minimum") { CompressBodies(minimum: Int64($0)) },
        .whole("Limits.Bounds.body") { value in limits { $0.body = value } },
        .whole("Limits.Bounds.codings") { value in limits { $0.codings = value } },
        .whole("Limits.Bounds.headerCount") { value in limits { $0.headerCount = value } },
        .whole("Limits.Bounds.headers") { value in limits { $0.headers = value } },
        .whole("Limits.Bounds.ratio") { value in limits { $0.ratio = value } },
        .whole("Limits.Bounds.line") { value in limits { $0.line = value } },
        .whole("LineSink.capacity") {
            Log(to: LineSink(capacity: $0) { _ in })
        },
        .whole("LineSink.maxBytes") { Log(to: LineSink(maxBytes: $0) { _ in }) },
        .time("LineSink.flushLimit") { Log(to: LineSink(flushLimit: $0) { _ in }) },
        .real("Log.sampling") { Log(to: MemoryLogSink(), sampling: $0) },
        .whole("Log.peekBytes") { Log(to: MemoryLogSink(), level: .debug, peekBytes: $0) },
        .whole("MemoryLogSink.capacity") { Log(to: MemoryLogSink(capacity: $0)) },
        .whole("MetricsStore.maxServers") { Metrics(MetricsStore(maxServers: $0)) },
        .whole("MetricsStore.maxSeries") { Metrics(MetricsStore(maxSeries: $0)) },
        .real("TraceContext.sampling") { TraceContext(sampling: $0) },
        .whole("Validate.keptBytes") { Validate(keptBytes: $0) },
    ]
}
