// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeSupport

/// The rules for the keys and costs of a limit's requests (``RateLimiting/key(_:)``).
public struct RateLimitOptions: Sendable {
    /// The group of calls that share the buckets.
    public let scope: RateLimit.Scope
    var key: (@Sendable (Request) -> String?)?
    var turnKey: (@Sendable (Request) -> String?)?
    var cost: (@Sendable (Request) -> Int)?
    var headCost: (@Sendable (ResponseHead) -> Int?)?
    var contentCost: (@Sendable (ResponseHead, Data) -> Int?)?
    var maxContent = 0
    var readsFields = false

    private static let maxCost = 1_000_000_000

    /// Creates options in which each request costs one permit.
    /// - Parameter scope: The group of calls that share the buckets.
    public init(scope: RateLimit.Scope) { self.scope = scope }

    /// Returns the quota of a request, or nil if the limit does not apply to the request.
    func key(of request: Request) -> QuotaKey? {
        let part = key?(request)
        if scope == .all { return QuotaKey(origin: nil, part: part) }
        return request.origin.map { QuotaKey(origin: $0, part: part) }
    }

    func cost(of request: Request) -> Int {
        guard let cost else { return 1 }
        return max(Self.clamped(cost(request)), 0)
    }

    static func clamped(_ permits: Int) -> Int { min(max(permits, -maxCost), maxCost) }
}

extension RateLimiting {
    /// Returns a limit with a quota for each key, such as the name of an account or a tenant.
    ///
    /// ```swift
    /// RateLimit(perSecond: 10).key { $0.headers["X-Tenant"] }
    /// ```
    ///
    /// The limit stores up to 1024 quotas without waiting calls. The key must not be a secret.
    /// Errors and logs show the beginning of the key, and the key is part of a key in a shared
    /// store.
    /// - Parameter key: Returns the owner of a request's quota at the request's origin. Requests
    ///   without a key (nil) share one quota.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func key(_ key: @escaping @Sendable (Request) -> String?) -> Self {
        var copy = self
        copy.options.key = key
        return copy
    }

    /// Returns a limit in which waiting calls of different keys, such as users, take turns.
    ///
    /// In each round, one call of each key starts, among the calls of one class (``Criticality``).
    /// If the queue is full, the call with the last turn is refused. With ``key(_:)``, each key has
    /// its own quota. With `takingTurns(by:)`, all keys share one quota.
    /// - Parameter key: The key of a request. Calls without a key (nil) count as one key.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func takingTurns(by key: @escaping @Sendable (Request) -> String?) -> Self {
        var copy = self
        copy.options.turnKey = key
        return copy
    }

    /// Returns a limit in which a closure decides how many permits a request takes.
    ///
    /// ```swift
    /// // A provider counts tokens: about one for four bytes of the prompt, and those of the answer.
    /// RateLimit([QuotaRule(100_000, per: .seconds(60), burst: 100_000)])
    ///     .cost { 500 + Int($0.body.length ?? 4000) / 4 }
    /// ```
    ///
    /// By default, a request takes one permit. A call never waits for more permits than the
    /// smallest burst. A call that costs more than the burst starts when the bucket is full. The
    /// calls after this call wait for the missing permits. If most costs are well above the burst,
    /// the burst is too small.
    /// - Parameter cost: The number of permits that a request takes. With 0 or less, the request
    ///   does not wait.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func cost(_ cost: @escaping @Sendable (Request) -> Int) -> Self {
        var copy = self
        copy.options.cost = cost
        return copy
    }

    /// Returns a limit with a correction by the actual cost in the head of each response.
    /// - Parameter cost: The actual cost in permits, or nil if the head does not contain the cost.
    ///   Excess permits are returned, and missing permits are charged.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func actualCost(_ cost: @escaping @Sendable (ResponseHead) -> Int?) -> Self {
        var copy = self
        copy.options.headCost = cost
        return copy
    }

    /// Returns a limit with a correction by the actual cost in the content of each response.
    ///
    /// ```swift
    /// struct Answer: Decodable {
    ///     struct Usage: Decodable { let total_tokens: Int }
    ///     let usage: Usage
    /// }
    /// limit.actualCost(upTo: 1_048_576) { _, content in
    ///     (try? JSONDecoder().decode(Answer.self, from: content))?.usage.total_tokens
    /// }
    /// ```
    ///
    /// The limit keeps the content while the caller reads the content, and calls `cost` at the end.
    /// If the content breaks off or is longer than `maxBytes`, the limit makes no correction. Use
    /// ``charge(_:for:by:)`` in this case.
    /// - Parameters:
    ///   - maxBytes: The maximum number of bytes of content that the limit keeps for `cost`.
    ///   - cost: The actual cost in permits, or nil if the content does not contain the cost.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func actualCost(
        upTo maxBytes: Int, _ cost: @escaping @Sendable (ResponseHead, Data) -> Int?
    ) -> Self {
        var copy = self
        copy.options.contentCost = cost
        copy.options.maxContent = max(maxBytes, 0)
        return copy
    }

    /// Begins a cool-down and corrects the remaining permits with the head of a response.
    func look(at head: ResponseHead, _ key: QuotaKey, _ cost: Int, in context: Context) {
        limiter.cooldowns?.note(head, for: key, gate: gateName, in: context)
        if options.readsFields, !head.isStored { readFields(of: head, key, in: context) }
        if let actual = options.headCost?(head) {
            limiter.correct(cost - RateLimitOptions.clamped(actual), of: key, context.timeSource)
        }
    }

    /// Corrects the remaining permits with the content of a response.
    func watch(_ response: Response, _ key: QuotaKey, _ cost: Int, in context: Context) {
        guard let contentCost = options.contentCost else { return }
        let (head, timeSource) = (response.head, context.timeSource)
        let content = KeptContent(upTo: options.maxContent)
        response.body.onChunk { content.add($0) }
        response.body.onEnd { [limiter] end in
            guard end.isFinished, let data = content.data, let actual = contentCost(head, data)
            else { return }
            limiter.correct(cost - RateLimitOptions.clamped(actual), of: key, timeSource)
        }
    }
}

/// The stored content of a response that contains the actual cost.
private final class KeptContent: Sendable {
    private let limit: Int
    private let content = Mutex<Data?>(Data())

    init(upTo limit: Int) { self.limit = limit }

    var data: Data? { content.withLock { $0 } }

    func add(_ chunk: Data) {
        content.withLock { content in
            guard let count = content?.count else { return }
            if count + chunk.count > limit { content = nil } else { content?.append(chunk) }
        }
    }
}

extension RateLimiting {
    /// Returns a limit with a correction by header fields that contain the remaining quota.
    ///
    /// The limit reads `RateLimit` and `RateLimit-Policy`
    /// (draft-ietf-httpapi-ratelimit-headers-11), and `X-RateLimit-Limit`, `X-RateLimit-Remaining`
    /// and `X-RateLimit-Reset`. A large reset is a Unix time, and any other reset is a number of
    /// seconds. The remaining permits are lowered to the server's number, and never raised. A lower
    /// number shows that the account has other clients. If no permit is left until a certain time
    /// and the limit uses cool-downs, a cool-down begins.
    ///
    /// A field belongs to the rule with the same period. If no rule has this name, the field
    /// belongs to the rule with the same number of permits. If no rule has this number, the field
    /// belongs to the rule with the longest period.
    /// - Returns: The new limit, which shares its quotas with this limit.
    public func readsQuotaFields() -> Self {
        var copy = self
        copy.options.readsFields = true
        return copy
    }

    func readFields(of head: ResponseHead, _ key: QuotaKey, in context: Context) {
        let date = context.timeSource.date.timeIntervalSince1970
        for left in QuotaLeft.all(in: head.headers, at: date) {
            if left.permits == 0, let reset = left.reset, let cooldowns = limiter.cooldowns {
                cooldowns.begin(reset, for: key, gate: gateName, in: context)
            } else {
                lower(
                    to: left.permits, of: key, rule: left.rule(of: limiter.rules),
                    by: context.timeSource)
            }
        }
    }
}

/// The remaining quota, from header fields.
struct QuotaLeft: Equatable {
    var permits: Int
    var reset: Duration?
    var quota: Int?
    var window: Duration?

    /// Returns the remaining quotas of requests in a response, where `now` is the Unix time.
    static func all(in headers: HTTPHeaders, at now: Double) -> [QuotaLeft] {
        let limits = headers.rateLimits
        if limits.isEmpty { return older(in: headers, at: now).map { [$0] } ?? [] }
        let policies = headers.rateLimitPolicies
        return limits.compactMap { limit in
            let policy = policies.first {
                $0.name == limit.policy && $0.partitionKey == limit.partitionKey
            }
            guard policy.map({ $0.unit == "requests" }) ?? true else { return nil }
            return QuotaLeft(
                permits: max(limit.availableQuota, 0), reset: limit.effectiveWindow,
                quota: policy?.quota, window: policy?.window)
        }
    }

    private static func older(in headers: HTTPHeaders, at now: Double) -> QuotaLeft? {
        guard let remaining = number("X-RateLimit-Remaining", headers) else { return nil }
        // A reset of 1e9 or more is a Unix time, because no quota has a period of thirty years.
        let reset = number("X-RateLimit-Reset", headers).flatMap { reset -> Duration? in
            let left = reset >= 1e9 ? reset - now : reset
            return left > 0 && left < 1e9 ? .milliseconds(Int64(left * 1000)) : nil
        }
        return QuotaLeft(
            permits: Int(min(remaining, 1e12)), reset: reset,
            quota: number("X-RateLimit-Limit", headers).map { Int(min($0, 1e12)) }, window: nil)
    }

    private static func number(_ name: HTTPHeaders.Name, _ headers: HTTPHeaders) -> Double? {
        guard let text = headers[name]?.split(separator: ",").first,
            let number = Double(Grammar.trimmed(text)), number >= 0, number.isFinite
        else { return nil }
        return number
    }

    /// Returns the index of the rule of this remaining quota.
    func rule(of rules: [QuotaRule]) -> Int {
        rules.firstIndex { $0.period == window }
            ?? rules.firstIndex { quota.map(Double.init) == $0.permits }
            ?? rules.indices.max { rules[$0].period < rules[$1].period } ?? 0
    }
}
