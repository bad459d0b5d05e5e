// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport
public import TurnpikeCore

/// The rest of a quota, as a server states it: an item of the field `RateLimit`
/// (draft-ietf-httpapi-ratelimit-headers-11 §4).
///
/// ```swift
/// // RateLimit: "minute";r=0;t=30
/// let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
/// let wait = used.compactMap(\.effectiveWindow).max()
/// ```
///
/// It is a hint, not a promise: the server may refuse a request although quota is left. A
/// `Retry-After` in the same response counts more (§7,
/// ``/TurnpikeCore/HTTPHeaders/retryAfter(at:)``). In a response from a cache, the limit is as old
/// as the response (§7.3).
public struct ServiceLimit: Sendable, Hashable {
    /// The name of the quota policy that the limit belongs to.
    public let policy: String
    /// How many units of the quota may still be used (`r`).
    public let availableQuota: Int
    /// The time after the response within which only the available quota may be used (`t`); nil if
    /// the server does not state it.
    public let effectiveWindow: Duration?
    /// The owner of the quota, if the server has a quota for each owner (`pk`).
    public let partitionKey: Data?

    /// Creates a limit.
    public init(
        policy: String, availableQuota: Int, effectiveWindow: Duration? = nil,
        partitionKey: Data? = nil
    ) {
        self.policy = policy
        self.availableQuota = availableQuota
        self.effectiveWindow = effectiveWindow
        self.partitionKey = partitionKey
    }
}

extension HTTPHeaders {
    /// The rest of each of the server's quotas: the items of the field `RateLimit`
    /// (draft-ietf-httpapi-ratelimit-headers-11 §4).
    ///
    /// It is empty if the field is missing, or malformed anywhere (§7). The fields of older drafts
    /// and the `X-RateLimit-…` fields are not read, because they have no common meaning: `Reset` is
    /// a date for one server, and a number of seconds for another.
    public var rateLimits: [ServiceLimit] {
        guard contains(.rateLimit), let list = StructuredItems(values(of: .rateLimit)) else {
            return []
        }
        return (try? list.items.map { try ServiceLimit($0) }) ?? []
    }
}

extension ServiceLimit {
    fileprivate init(_ item: StructuredItems.Item) throws(StructuredItems.Malformed) {
        guard let available = try item.integer("r") else { throw StructuredItems.Malformed() }
        self.init(
            policy: try item.name(), availableQuota: available,
            effectiveWindow: try item.integer("t").map { .seconds($0) },
            partitionKey: try item.bytes("pk"))
    }
}

/// A limit that a server sets its clients: an item of the field `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers-11 §3).
///
/// `"hour";q=1000;w=3600` is a quota of 1000 requests in an hour.
struct QuotaPolicy: Hashable {
    let name: String
    /// How many units may be used in a window (`q`).
    let quota: Int
    /// The unit that is counted (`qu`): `requests`, `content-bytes` or `concurrent-requests`.
    var unit = "requests"
    /// The window that the quota is for (`w`); nil if the server does not say.
    var window: Duration?
    /// The owner of the quota, if the server keeps several (`pk`).
    var partitionKey: Data?
}

extension HTTPHeaders {
    /// The server's quotas; empty if the field is missing, or malformed anywhere (§7).
    var rateLimitPolicies: [QuotaPolicy] {
        guard contains(.rateLimitPolicy),
            let list = StructuredItems(values(of: .rateLimitPolicy))
        else { return [] }
        return (try? list.items.map { try QuotaPolicy($0) }) ?? []
    }
}

extension QuotaPolicy {
    fileprivate init(_ item: StructuredItems.Item) throws(StructuredItems.Malformed) {
        guard let quota = try item.integer("q") else { throw StructuredItems.Malformed() }
        self.init(
            name: try item.name(), quota: quota, unit: try item.string("qu") ?? "requests",
            window: try item.integer("w", from: 1).map { .seconds($0) },
            partitionKey: try item.bytes("pk"))
    }
}
