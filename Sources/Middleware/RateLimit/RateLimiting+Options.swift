// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// What a limit asks of requests and responses, as ``RateLimiting/key(_:)`` and its neighbours set it.
public struct RateLimitOptions: Sendable {
    /// What shares the buckets.
    public let scope: RateLimit.Scope
    var key: (@Sendable (Request) -> String?)?
    var cost: (@Sendable (Request) -> Int)?
    var headCost: (@Sendable (ResponseHead) -> Int?)?
    var contentCost: (@Sendable (ResponseHead, Data) -> Int?)?
    var maxContent = 0
    var readsFields = false

    // No call costs more.
    private static let maxCost = 1_000_000_000

    /// Creates options: each request costs one permit.
    /// - Parameter scope: What shares the buckets.
    public init(scope: RateLimit.Scope) { self.scope = scope }

    /// Whose quota a request uses; nil if there is no limit for it.
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
    /// Returns the limit with a quota for each key, such as the name of an account or tenant.
    ///
    /// ```swift
    /// RateLimit(perSecond: 10).key { $0.headers["X-Tenant"] }
    /// ```
    ///
    /// The limit keeps up to 1024 quotas that nobody waits for. The key must not be a secret: errors
    /// and logs show its beginning, and for a limit over a shared store it is part of a key there.
    /// - Parameter key: Whose quota a request uses besides that of its origin; nil for the quota
    ///   without a key.
    /// - Returns: The limit. It shares its quotas with this one.
    public func key(_ key: @escaping @Sendable (Request) -> String?) -> Self {
        var copy = self
        copy.options.key = key
        return copy
    }

    /// Returns the limit with a number of permits for each request; without it, each takes one.
    ///
    /// ```swift
    /// // A provider counts tokens: about one for four bytes of the prompt, and those of the answer.
    /// RateLimit([QuotaRule(100_000, per: .seconds(60), burst: 100_000)])
    ///     .cost { 500 + Int($0.body.length ?? 4000) / 4 }
    /// ```
    ///
    /// A call waits until its permits are there, but never for more than the smallest burst: one that
    /// costs more starts when the bucket is full, and the calls behind it wait for the rest. Costs
    /// well above the burst are a sign that the burst is too small.
    /// - Parameter cost: How many permits a request takes. With 0 or less it takes none and does not
    ///   wait.
    /// - Returns: The limit. It shares its quotas with this one.
    public func cost(_ cost: @escaping @Sendable (Request) -> Int) -> Self {
        var copy = self
        copy.options.cost = cost
        return copy
    }

    /// Returns the limit with a correction from the head of a response, which knows what the call
    /// really cost.
    /// - Parameter cost: The number of permits that the call cost in all; nil if the head does not
    ///   say. Permits that were taken in excess are returned, missing ones are charged.
    /// - Returns: The limit. It shares its quotas with this one.
    public func actualCost(_ cost: @escaping @Sendable (ResponseHead) -> Int?) -> Self {
        var copy = self
        copy.options.headCost = cost
        return copy
    }

    /// Returns the limit with a correction from the content of a response, which knows what the call
    /// really cost.
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
    /// The content is kept while the caller reads it, and `cost` is called when all of it was read.
    /// Nothing is corrected if it breaks off or is longer; use ``charge(_:for:by:)`` then.
    /// - Parameters:
    ///   - maxBytes: The most bytes of content that are kept for it.
    ///   - cost: The number of permits that the call cost in all; nil if the content does not say.
    /// - Returns: The limit. It shares its quotas with this one.
    public func actualCost(
        upTo maxBytes: Int, _ cost: @escaping @Sendable (ResponseHead, Data) -> Int?
    ) -> Self {
        var copy = self
        copy.options.contentCost = cost
        copy.options.maxContent = max(maxBytes, 0)
        return copy
    }

    /// Begins a cool-down and corrects what is left, as the head of a response tells.
    func look(at head: ResponseHead, _ key: QuotaKey, _ cost: Int, in context: Context) {
        limiter.cooldowns?.note(head, for: key, gate: gateName, in: context)
        if options.readsFields, !head.isStored { readFields(of: head, key, in: context) }
        if let actual = options.headCost?(head) {
            limiter.correct(cost - RateLimitOptions.clamped(actual), of: key, context.timeSource)
        }
    }

    /// Corrects what is left, as the content of a response tells.
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

/// The content of a response as far as it is kept for a correction.
private final class KeptContent: Sendable {
    private let limit: Int
    private let content = Mutex<Data?>(Data())

    init(upTo limit: Int) { self.limit = limit }

    /// All of it; nil if it is too long.
    var data: Data? { content.withLock { $0 } }

    func add(_ chunk: Data) {
        content.withLock { content in
            guard let count = content?.count else { return }
            if count + chunk.count > limit { content = nil } else { content?.append(chunk) }
        }
    }
}
