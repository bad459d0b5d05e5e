// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data
public import TurnpikeCore

/// A limit of a server for its clients: an item of the field `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers-11 §3).
///
/// `"hour";q=1000;w=3600` is a quota of 1000 requests in an hour.
/// ``TurnpikeCore/HTTPHeaders/rateLimits`` has the rest of the quota.
public struct QuotaPolicy: Sendable, Hashable {
    /// The name of the policy.
    public let name: String
    /// How many units may be used in a window (`q`).
    public let quota: Int
    /// The unit that is counted (`qu`): `requests`, `content-bytes` or `concurrent-requests`.
    public let unit: String
    /// The window of the quota (`w`); nil if the server does not state it.
    public let window: Duration?
    /// The owner of the quota, if the server has a quota for each owner (`pk`).
    public let partitionKey: Data?

    /// Creates a policy.
    public init(
        name: String, quota: Int, unit: String = "requests", window: Duration? = nil,
        partitionKey: Data? = nil
    ) {
        self.name = name
        self.quota = quota
        self.unit = unit
        self.window = window
        self.partitionKey = partitionKey
    }
}

extension HTTPHeaders {
    /// The server's quotas: the items of the field `RateLimit-Policy`
    /// (draft-ietf-httpapi-ratelimit-headers-11 §3).
    ///
    /// It is empty if the field is missing, or malformed anywhere (§7).
    public var rateLimitPolicies: [QuotaPolicy] {
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
